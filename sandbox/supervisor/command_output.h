// The output streams of one command: they are pumped into its logs, drained
// after its exit, and expired when the sandbox needs their disk space.
//
//   OPEN -> DRAINING -> CLOSED
//                \-> OVERDUE -> CLOSED
//                 \________\-> LEFT_OPEN -> CLOSED
//
// Used on the event loop's thread only. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_COMMAND_OUTPUT_H_
#define SANDBOX_SUPERVISOR_COMMAND_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "google/protobuf/repeated_field.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/terminal_times.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/output_channel.h"

namespace sandbox {

class CommandOutput {
 public:
  struct Callbacks {
    // A log grew, lost its oldest bytes or was closed.
    std::function<void()> changed;
    // See OutputChannel.
    std::function<void(wire::ExitRecord::Cause)> must_kill;
    // Called when Drain() is over; `left_open` is true if a descendant still
    // holds the output open. Called again with false if the descendant closes
    // it later.
    std::function<void(bool left_open)> drained;
  };

  // `files` has the logs and outlives this, as do the members of `host`.
  CommandOutput(const OutputHost& host, const ExecutionFiles* files,
                Callbacks callbacks);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // See OutputChannel. Before Drain().
  void Add(wire::Stream kind, UniqueFd source, OutputLogWriter log);
  // Writes the time at which the command started into the logs. The times of a
  // terminal count from this call.
  void NoteStart(int64_t start_time_ns);

  // The command has exited, once. Waits until every stream is closed, at most
  // for `limit`; longer while a stream waits for room or for the disk, since
  // its data may be the command's own.
  void Drain(absl::Duration limit);
  // A stream that waits for the disk delays the end of Drain() no longer than
  // the limit.
  void IgnoreDisk();
  // Moves what is ready and closes all streams: nobody will read the rest.
  void Discard();
  // Closes all streams at once: the command did not start.
  void Close();

  void Acknowledge(wire::Stream kind, uint64_t offset);
  // The end of the command was reported: from now on the quota may expire its
  // output.
  void Settle();
  // True once it is settled and all streams are closed: only the quota may
  // still change the logs.
  bool released() const;
  // The bytes of disk that are charged to the quota.
  uint64_t charged() const;

  // Adds the range that each log holds now.
  void AddStates(
      google::protobuf::RepeatedPtrField<wire::StreamState>* states) const;
  // True while a stream waits for the disk.
  bool refused() const;
  // Why a log lacks some of the output; see OutputChannel.
  std::optional<wire::ExitRecord::Cause> loss() const;
  // The master of the command's terminal. NOT_A_TERMINAL: it has none, or
  // that is closed.
  absl::StatusOr<int> terminal() const;
  absl::Status ResizeTerminal(uint32_t rows, uint32_t columns);

 private:
  enum class State { kOpen, kDraining, kOverdue, kLeftOpen, kClosed };

  void Pump();
  bool closed() const;
  void OnChanged();
  void OnDrainLimit();
  void Enter(State next);
  void Expire();

  const OutputHost host_;
  const ExecutionFiles* const files_;
  const Callbacks callbacks_;
  State state_ = State::kOpen;
  bool ignore_disk_ = false;
  absl::Duration drain_limit_;
  std::vector<std::unique_ptr<OutputChannel>> channels_;
  // Present for a terminal, once the command has started.
  std::optional<TerminalTimesWriter> times_;
  Timer drain_timer_;
  Timer expire_retry_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_OUTPUT_H_

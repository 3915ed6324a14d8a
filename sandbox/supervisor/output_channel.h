// One output stream of a running command: from its pipe, or from its terminal's
// master, into its log.
//
// For the event loop's thread. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_H_
#define SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// What the channels of one sandbox share. Outlives them.
struct OutputHost {
  EventLoop* loop = nullptr;
  // The loop, except in tests.
  Timers* timers = nullptr;
  StorageStatus* storage = nullptr;
  OutputQuota* quota = nullptr;
};

class OutputChannel final : private QuotaLog {
 public:
  struct Callbacks {
    // The log grew, lost its oldest bytes or was closed.
    std::function<void()> changed;
    // With Overflow::kKill, once: more was written than is kept, and is thrown
    // away, or the disk has failed.
    std::function<void(wire::ExitRecord::Cause)> must_kill;
  };

  // `source` is non-blocking.
  OutputChannel(const OutputHost& host, wire::Stream kind, UniqueFd source,
                OutputLogWriter log, Callbacks callbacks);
  ~OutputChannel();
  OutputChannel(const OutputChannel&) = delete;
  OutputChannel& operator=(const OutputChannel&) = delete;

  wire::Stream kind() const { return kind_; }
  // What the log holds.
  wire::StreamState state() const;
  // Nothing more will come.
  bool closed() const { return !source_.valid(); }
  // The source waits, for room in the log or for the disk.
  bool blocked() const { return !closed() && wait_ != Wait::kForData; }
  // It waits for the disk.
  bool refused() const { return !closed() && wait_ == Wait::kForDisk; }
  // Why the log lacks what was written, if it does: OUTPUT_LIMIT with
  // Overflow::kKill, or OUTPUT_FAILED, which a disk that recovers before
  // Close() takes back.
  std::optional<wire::ExitRecord::Cause> loss() const;
  // For a terminal.
  int source() const { return source_.get(); }

  // Before anything is moved: see OutputLogWriter.
  void NoteStart(int64_t start_time_ns) { log_->NoteStart(start_time_ns); }
  // Moves what is ready into the log, within its room.
  void Pump();
  void Acknowledge(uint64_t offset);
  // Nothing more is wanted.
  void Close();
  // Its execution has ended: from now on the quota takes the log for that of an
  // ended one, as soon as it is closed. Until then it may have to drop more.
  void Settle();
  // Drops what is in the log, which is at `path`, and from now on what comes.
  // False: the disk refuses, the storage is told to fail, and it is to be tried
  // again.
  [[nodiscard]] bool Expire(const std::string& path);

 private:
  enum class Wait { kForData, kForRoom, kForDisk };

  uint64_t droppable_bytes() const override;
  void Trim(uint64_t bytes) override;
  void Resume() override;

  // Moves once, and adds how much. What is to be waited for before the next
  // time, if anything is.
  std::optional<Wait> Step(size_t* moved);
  // How much may be moved now, by the log's policy and the sandbox's quota.
  size_t Room();
  // How many bytes; 0 at the end; Unavailable when nothing is ready.
  absl::StatusOr<size_t> Move(size_t room);
  absl::StatusOr<size_t> MoveFromTerminal(size_t room);
  // The same, for what comes after a log of kKill is full.
  absl::StatusOr<size_t> Discard();
  void OnMoved(const absl::StatusOr<size_t>& moved);
  void MustKill(wire::ExitRecord::Cause cause);
  // Tells the quota what the log takes, and tries again to make less of it.
  void Account();
  void Charge(uint64_t disk_bytes);
  void Release();
  void SetWait(Wait wait);

  const OutputHost host_;
  const wire::Stream kind_;
  UniqueFd source_;
  // Until it is closed and settled.
  std::optional<OutputLogWriter> log_;
  const Callbacks callbacks_;
  // What was read from a terminal and could not be written.
  std::string unwritten_;
  // What the log held when it was released.
  wire::StreamState released_;
  // Disk that is charged to the quota.
  uint64_t charged_ = 0;
  bool settled_ = false;
  bool failing_ = false;
  bool killing_ = false;
  std::optional<wire::ExitRecord::Cause> loss_;
  Wait wait_ = Wait::kForRoom;
  Timer disk_retry_;
  Timer punch_retry_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_H_

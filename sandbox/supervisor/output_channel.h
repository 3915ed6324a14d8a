// One output stream of a running command: from its pipe, or from its terminal's
// master, into its log.
//
// Used on the event loop's thread only. Not movable: the loop refers to it.

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

// Shared by the channels of one sandbox. Outlives them.
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
    // Called once, with Overflow::kKill: more was written than is kept and is
    // discarded, or the disk has failed.
    std::function<void(wire::ExitRecord::Cause)> must_kill;
  };

  // `source` is a pipe, or a terminal's master in non-blocking mode.
  OutputChannel(const OutputHost& host, wire::Stream kind, UniqueFd source,
                OutputLogWriter log, Callbacks callbacks);
  ~OutputChannel();
  OutputChannel(const OutputChannel&) = delete;
  OutputChannel& operator=(const OutputChannel&) = delete;

  wire::Stream kind() const { return kind_; }
  // Returns what the log holds.
  wire::StreamState state() const;
  // True once nothing more will come.
  bool closed() const { return !source_.valid(); }
  // True while writers wait until the log has room or the disk accepts data.
  bool blocked() const { return !closed() && wait_ != Wait::kForData; }
  // True while writers wait for the disk.
  bool refused() const { return !closed() && wait_ == Wait::kForDisk; }
  // True once it is closed and settled, and holds nothing of the log.
  bool released() const { return closed() && !log_.has_value(); }
  // The bytes of disk that are charged to the quota.
  uint64_t charged() const { return charged_; }
  // Why the log lacks some of the output: OUTPUT_LIMIT with Overflow::kKill, or
  // OUTPUT_FAILED unless the disk recovers before Close(). Returns no value if
  // the log is complete.
  std::optional<wire::ExitRecord::Cause> loss() const;
  // The terminal's master, if this is a terminal.
  int source() const { return source_.get(); }

  // See OutputLogWriter. Before the first Pump().
  void NoteStart(int64_t start_time_ns) { log_->NoteStart(start_time_ns); }
  // Moves available data into the log, as much as the log has room for.
  void Pump();
  void Acknowledge(uint64_t offset);
  // Closes the stream and its log. Later data is discarded.
  void Close();
  // The execution has ended. Once closed, the log no longer counts as a
  // running one for the quota; until then the quota may make it drop more.
  void Settle();
  // Drops the content of the log of `execution`, whose file that is, and all
  // that is written later. Returns false if the disk refuses, which the storage
  // status reports, and the caller tries again.
  [[nodiscard]] bool Expire(const std::string& execution);

 private:
  enum class Wait { kForData, kForRoom, kForDisk };

  uint64_t droppable_bytes() const override;
  void Trim(uint64_t bytes) override;
  void Resume() override;

  // Moves data once and adds its size to `moved`. Returns what to wait for
  // before the next move, if anything.
  std::optional<Wait> Step(size_t* moved);
  // The number of bytes that may be moved now, by the log's policy and the
  // sandbox's quota.
  size_t Room();
  // Returns the number of bytes; 0 at end of stream; Unavailable if no data is
  // ready.
  absl::StatusOr<size_t> Move(size_t room);
  absl::StatusOr<size_t> MoveFromTerminal(size_t room);
  // Like Move(), but discards: for a full log with Overflow::kKill.
  absl::StatusOr<size_t> Discard();
  void OnMoved(const absl::StatusOr<size_t>& moved);
  void MustKill(wire::ExitRecord::Cause cause);
  // Reports the disk use of the log to the quota, and retries to release space
  // that was dropped.
  void Account();
  void Charge(uint64_t disk_bytes);
  void Release();
  void SetWait(Wait wait);

  const OutputHost host_;
  const wire::Stream kind_;
  UniqueFd source_;
  // Empty once it is closed and settled.
  std::optional<OutputLogWriter> log_;
  const Callbacks callbacks_;
  // Bytes that were read from a terminal and could not be written.
  std::string unwritten_;
  // The state of the log when it was released.
  wire::StreamState released_;
  uint64_t charged_ = 0;
  bool enlarged_ = false;
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

// One output stream of a running command: from its pipe, or from its terminal's
// master, into its log.
//
// For the event loop's thread. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_H_
#define SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/event_loop.h"
#include "sandbox/output_log.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class OutputChannel {
 public:
  // `source` is non-blocking. `changed` is called when the log grew or was
  // closed.
  OutputChannel(EventLoop* loop, wire::Stream kind, UniqueFd source,
                OutputLogWriter log, std::function<void()> changed);
  ~OutputChannel();
  OutputChannel(const OutputChannel&) = delete;
  OutputChannel& operator=(const OutputChannel&) = delete;

  wire::Stream kind() const { return kind_; }
  // Nothing more will come.
  bool closed() const { return !source_.valid(); }
  // The log is full, and the source waits.
  bool blocked() const { return !closed() && wait_ == Wait::kForRoom; }
  // For a terminal.
  int source() const { return source_.get(); }

  // Moves what is ready into the log, within its room.
  void Pump();
  void Acknowledge(uint64_t offset);
  // Nothing more is wanted.
  void Close();

 private:
  enum class Wait { kForData, kForRoom, kForDisk };
  // How many bytes; 0 at the end; Unavailable when nothing is ready.
  absl::StatusOr<size_t> Move();
  void SetWait(Wait wait);

  EventLoop* const loop_;
  const wire::Stream kind_;
  UniqueFd source_;
  std::optional<OutputLogWriter> log_;
  const std::function<void()> changed_;
  Wait wait_ = Wait::kForRoom;
  std::optional<EventLoop::TimerId> retry_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_H_

// A command's standard input: a pipe, or its terminal's master.
//
// Used on the event loop's thread only. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_INPUT_CHANNEL_H_
#define SANDBOX_SUPERVISOR_INPUT_CHANNEL_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class InputChannel {
 public:
  using Done = absl::AnyInvocable<void(absl::Status, wire::InputState)>;

  // `sink` is non-blocking. A terminal is not closed at the end of the input.
  InputChannel(EventLoop* loop, UniqueFd sink, bool terminal);
  ~InputChannel();
  InputChannel(const InputChannel&) = delete;
  InputChannel& operator=(const InputChannel&) = delete;

  // The most that may wait, in bytes and in calls. A server has one call at a
  // time under way, but calls of servers that have ended wait too.
  static constexpr size_t kMaxPending = size_t{4} << 20;
  static constexpr size_t kMaxWaiters = 64;

  // Calls `done` when the pipe or terminal has taken everything up to the end
  // of `data`, or is closed, which the state shows. Fails with OFFSET_GAP if
  // `offset` is beyond the end of the data so far, and with SHORTAGE if too
  // much waits already; then nothing was taken.
  void Write(uint64_t offset, const std::string& data, bool eof, Done done);

  // The offset at which appended data begins.
  uint64_t next_offset() const { return accepted_ + pending_.size(); }

  // Closes the input and answers all waiting calls.
  void Close();

  wire::InputState state() const;

 private:
  struct Waiter {
    uint64_t until;
    Done done;
  };
  void Pump();
  void Answer();
  void WatchSink(bool watch);

  EventLoop* const loop_;
  UniqueFd sink_;
  const bool terminal_;
  bool watched_ = false;
  bool eof_ = false;
  uint64_t accepted_ = 0;
  // Bytes from accepted_ on that the sink has not taken.
  std::string pending_;
  std::deque<Waiter> waiters_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_INPUT_CHANNEL_H_

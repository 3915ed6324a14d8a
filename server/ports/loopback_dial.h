// Connects a socket of a sandbox's network namespace to a server there: at
// 127.0.0.1, then at ::1, and at no other address.
//
// Used on the thread of its loop only.

#ifndef SERVER_PORTS_LOOPBACK_DIAL_H_
#define SERVER_PORTS_LOOPBACK_DIAL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"

namespace server {

class LoopbackDial {
 public:
  // The time in which a server must accept. The kernel connects at once, unless
  // the queue of the server is full.
  static constexpr absl::Duration kPatience = absl::Seconds(10);

  // Gets the connected socket, NotFound if no server listens, or
  // DeadlineExceeded if the patience is over. Must not destroy the dial.
  using Done = absl::AnyInvocable<void(absl::StatusOr<sandbox::UniqueFd>)>;

  // `sockets` are TCP sockets that are not connected and do not block, at least
  // one. They are tried in their order. `loop` must outlive the object.
  LoopbackDial(sandbox::EventLoop* loop, std::vector<sandbox::UniqueFd> sockets,
               uint16_t port, absl::Duration patience = kPatience);
  // `done` is not called any more.
  ~LoopbackDial();
  LoopbackDial(const LoopbackDial&) = delete;
  LoopbackDial& operator=(const LoopbackDial&) = delete;

  // Call it once. May call `done` before it returns.
  void Begin(Done done);

 private:
  // Tries the sockets from `next_` on.
  void Try();
  void OnReady();
  // The present socket is connected, or failed with this errno.
  void OnResult(int error);
  void End(absl::StatusOr<sandbox::UniqueFd> result);

  sandbox::EventLoop* const loop_;
  std::vector<sandbox::UniqueFd> sockets_;
  const uint16_t port_;
  const absl::Duration patience_;
  Done done_;
  size_t next_ = 0;
  // Why the first socket was not connected.
  absl::Status failure_;
  sandbox::Timer limit_;
};

}  // namespace server

#endif  // SERVER_PORTS_LOOPBACK_DIAL_H_

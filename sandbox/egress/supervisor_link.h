// The end of corral-egress of the socket that it shares with its supervisor.

#ifndef SANDBOX_EGRESS_SUPERVISOR_LINK_H_
#define SANDBOX_EGRESS_SUPERVISOR_LINK_H_

#include <functional>

#include "absl/status/status.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/egress/proxy.h"

namespace egress {

// Used on the thread of its loop only.
class SupervisorLink {
 public:
  // Passes each Update that comes to `proxy` and reports it. `on_end` is called
  // once, when nothing more will come: the supervisor has closed its end
  // (Cancelled), or an update was wrong. `socket` is not owned; all must
  // outlive the link.
  SupervisorLink(sandbox::EventLoop* loop, int socket, Proxy* proxy,
                 std::function<void(absl::Status)> on_end);
  ~SupervisorLink();

 private:
  void OnReadable();
  absl::Status ReceiveUpdate();

  sandbox::EventLoop* const loop_;
  const int socket_;
  Proxy* const proxy_;
  const std::function<void(absl::Status)> on_end_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_SUPERVISOR_LINK_H_

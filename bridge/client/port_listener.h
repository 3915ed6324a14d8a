// Listens on one port of the loopback interface of this machine: at 127.0.0.1
// and, where there is IPv6, at ::1. Nobody else reaches it.
//
// Once it accepts, used on the thread of the loop only.

#ifndef BRIDGE_CLIENT_PORT_LISTENER_H_
#define BRIDGE_CLIENT_PORT_LISTENER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"

namespace client {

class PortListener {
 public:
  using OnConnection = std::function<void(sandbox::UniqueFd)>;

  // A `port` of 0 means any that is free at both addresses. Fails with
  // AlreadyExists if the port is in use; the message names it.
  static absl::StatusOr<std::unique_ptr<PortListener>> Listen(uint16_t port);
  ~PortListener();
  PortListener(const PortListener&) = delete;
  PortListener& operator=(const PortListener&) = delete;

  uint16_t port() const { return port_; }

  // Passes every connection to `on_connection` until this is destroyed, as a
  // socket that does not block. Connections that came earlier have waited in
  // the kernel. `loop` must outlive the object.
  void Accept(sandbox::EventLoop* loop, OnConnection on_connection);

 private:
  // The delay before the next attempt when this process has no descriptor left.
  static constexpr absl::Duration kRetry = absl::Milliseconds(100);

  PortListener(uint16_t port, std::vector<sandbox::UniqueFd> sockets);

  void Watch();
  void Unwatch();
  void AcceptOne(int socket);

  const uint16_t port_;
  const std::vector<sandbox::UniqueFd> sockets_;
  sandbox::EventLoop* loop_ = nullptr;
  OnConnection on_connection_;
  sandbox::Timer retry_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_PORT_LISTENER_H_

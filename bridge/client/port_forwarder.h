// Makes servers in a sandbox reachable on the loopback interface of this
// machine, with a thread of its own.
//
// A connection whose server is not there, or that corrald refuses, is reset,
// and the reason is reported once until it changes. When corrald is killed or
// replaced, open connections are reset, and the next ones wait for its
// successor.
//
// Used by one thread only, except `report` and `server_gone`, which the
// forwarder's own thread calls.

#ifndef BRIDGE_CLIENT_PORT_FORWARDER_H_
#define BRIDGE_CLIENT_PORT_FORWARDER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "bridge/client/forwarded_connection.h"
#include "bridge/client/port_listener.h"
#include "bridge/client/published_port.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/callback_threads.h"
#include "sandbox/base/event_loop.h"

namespace client {

class PortForwarder {
 public:
  struct Reports {
    // Reports why a connection to a port failed. NotFound means that the
    // sandbox is gone.
    std::function<void(PublishedPort, const absl::Status&)> failed =
        [](PublishedPort, const absl::Status&) {};
    // The server is gone. Somebody should call Connection::Reconnect(), on
    // another thread.
    std::function<void()> server_gone = [] {};
  };

  // Listens. Connections wait until Begin(). Fails with AlreadyExists if a port
  // is in use.
  static absl::StatusOr<std::unique_ptr<PortForwarder>> Listen(
      const std::vector<PublishedPort>& ports, Reports reports);
  // Resets the connections that are open, and waits for their calls.
  ~PortForwarder();

  // The ports with the local ones that were found.
  std::vector<PublishedPort> ports() const;

  // Connects what comes to the sandbox with this name. To be called once.
  // `connection` must outlive this object.
  void Begin(Connection* connection, const std::string& sandbox);

 private:
  struct Port {
    PublishedPort published;
    std::unique_ptr<PortListener> listener;
    // The last failure that was reported; empty after a success.
    std::string reported;
  };

  PortForwarder(std::unique_ptr<sandbox::EventLoop> loop,
                std::vector<Port> ports, Reports reports);

  void Accept(Port* port, sandbox::UniqueFd socket);
  void OnOver(ForwardedConnection* connection, const grpc::Status& status);
  void Report(Port* port, const grpc::Status& status);
  void End();

  const std::shared_ptr<sandbox::EventLoop> loop_;
  const Reports reports_;
  ForwardedConnection::Observer observer_;
  Connection* connection_ = nullptr;
  std::string sandbox_;
  // After Begin(), used on the thread of the loop only.
  std::vector<Port> ports_;
  struct Open {
    std::unique_ptr<ForwardedConnection> connection;
    Port* port;
  };
  std::map<ForwardedConnection*, Open> open_;
  bool ending_ = false;
  const sandbox::CallbackThreads callback_threads_{
      sandbox::CallbackThreads::Service::kShared};
  std::thread thread_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_PORT_FORWARDER_H_

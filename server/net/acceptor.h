// Takes connections off listening sockets and gives them to gRPC.
//
// gRPC's own listener closes its sockets when it stops, and with them the
// connections that wait in their queues.

#ifndef SERVER_NET_ACCEPTOR_H_
#define SERVER_NET_ACCEPTOR_H_

#include <poll.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/server_builder.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/user_namespace.h"
#include "server/net/open_connections.h"

namespace server {

// Accepts connections on a thread of its own between Start and Stop. Closes a
// connection at once if too many are open, or if it comes from another user
// through a Unix socket. When no descriptor is left, connections stay in the
// queue for a while. Not thread-safe.
class Acceptor {
 public:
  using Connections =
      std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

  // `sockets` are non-blocking and outlive the object. The server of
  // `connections` must run between Start and Stop. At most `max_connections`
  // are open at one time.
  Acceptor(std::vector<int> sockets, Connections connections,
           size_t max_connections)
      : sockets_(std::move(sockets)),
        connections_(std::move(connections)),
        commands_are_this_user_(sandbox::CommandsAreThisUser()),
        open_(max_connections) {}
  ~Acceptor() { Stop(); }

  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  absl::Status Start();
  // After it returns, no connection is accepted. May be called twice.
  void Stop();

 private:
  void Run();
  // `polled` is what poll(2) returned; its first entry is stop_. Returns false
  // if no descriptor is left.
  bool AcceptReady(const std::vector<pollfd>& polled);
  bool AcceptSome(int socket);
  // Returns true if the connection may be served. `is_local`: it came through a
  // Unix socket.
  bool Admit(const sandbox::UniqueFd& connection, bool is_local);

  const std::vector<int> sockets_;
  const Connections connections_;
  const bool commands_are_this_user_;
  // Used by the thread.
  OpenConnections open_;
  bool is_full_ = false;
  // Becomes readable when the thread must end.
  sandbox::UniqueFd stop_;
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_NET_ACCEPTOR_H_

// Takes connections off listening sockets and gives them to gRPC.
//
// gRPC's own listener closes its sockets when it stops, and with them the
// connections that wait in their queues.

#ifndef SERVER_NET_ACCEPTOR_H_
#define SERVER_NET_ACCEPTOR_H_

#include <poll.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/server_builder.h"
#include "sandbox/base/unique_fd.h"

namespace server {

// Not thread-safe. It takes connections on a thread of its own between Start
// and Stop. Without descriptors left it waits a while: connections stay in the
// queue.
class Acceptor {
 public:
  using Connections =
      std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

  // `sockets` are non-blocking and outlive the object. The server of
  // `connections` must run between Start and Stop.
  Acceptor(std::vector<int> sockets, Connections connections)
      : sockets_(std::move(sockets)), connections_(std::move(connections)) {}
  ~Acceptor() { Stop(); }

  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  absl::Status Start();
  // When it returns, no connection is taken any more. May be called twice.
  void Stop();

 private:
  void Run();
  // Of what poll(2) returned, of which the first is stop_. False: there are no
  // descriptors left.
  bool AcceptReady(const std::vector<pollfd>& polled);
  bool AcceptSome(int socket);

  const std::vector<int> sockets_;
  const Connections connections_;
  // Becomes readable when the thread is to end.
  sandbox::UniqueFd stop_;
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_NET_ACCEPTOR_H_

// Listens on the configured address, with the credentials for it.

#ifndef SERVER_NET_LISTENER_H_
#define SERVER_NET_LISTENER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/acceptor.h"
#include "server/net/listen_address.h"
#include "server/net/listening_sockets.h"

namespace server {

// Not thread-safe.
class Listener {
 public:
  // Reads the files that the configuration names, and changes nothing. Fails
  // with InvalidArgument if the address or a PEM file cannot be used.
  static absl::StatusOr<std::unique_ptr<Listener>> Prepare(
      const corral::config::v1::ServerConfig& config);

  // Opens the address: see ListeningSockets::Open.
  absl::Status Listen();
  // Takes over a predecessor's sockets. If they listen on another address, logs
  // that and opens its own, unless Listen has.
  absl::Status Adopt(std::vector<sandbox::UniqueFd> sockets);

  // Starts the server that `builder` describes, and accepts connections for it
  // from now on. Call it once, after Listen or Adopt.
  absl::StatusOr<std::unique_ptr<grpc::Server>> Start(
      grpc::ServerBuilder* builder);

  // Leaves connections in the queue from now on, until Resume or for a
  // successor. Call it before the server's Shutdown.
  void Pause() { acceptor_->Stop(); }
  absl::Status Resume() { return acceptor_->Start(); }

  // The listening sockets, for a successor.
  std::vector<int> fds() const { return sockets_->fds(); }
  // Closes the sockets when there is no successor: another server can listen on
  // the address.
  void Close() { sockets_.reset(); }

 private:
  Listener(ListenAddress address,
           std::shared_ptr<grpc::ServerCredentials> credentials,
           size_t max_connections)
      : address_(std::move(address)),
        credentials_(std::move(credentials)),
        max_connections_(max_connections) {}

  const ListenAddress address_;
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  const size_t max_connections_;
  std::optional<ListeningSockets> sockets_;
  std::optional<Acceptor> acceptor_;
};

}  // namespace server

#endif  // SERVER_NET_LISTENER_H_

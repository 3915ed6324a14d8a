// Where the server listens, and the credentials that go with it.

#ifndef SERVER_NET_LISTENER_H_
#define SERVER_NET_LISTENER_H_

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
  // Reads what the configuration names, and changes nothing. InvalidArgument:
  // an address or a PEM file that is no good.
  static absl::StatusOr<std::unique_ptr<Listener>> Prepare(
      const corral::config::v1::ServerConfig& config);

  // Opens the address: see ListeningSockets::Open.
  absl::Status Listen();
  // Takes over a predecessor's sockets; if they are those of another address,
  // says so and opens its own, unless Listen has.
  absl::Status Adopt(std::vector<sandbox::UniqueFd> sockets);

  // Starts the server that `builder` describes, and takes connections for it
  // from now on. Once, after Listen or Adopt.
  absl::StatusOr<std::unique_ptr<grpc::Server>> Start(
      grpc::ServerBuilder* builder);

  // Connections wait from now on, until Resume or for a successor. Comes before
  // the server's Shutdown.
  void Pause() { acceptor_->Stop(); }
  absl::Status Resume() { return acceptor_->Start(); }

  // For a successor.
  std::vector<int> fds() const { return sockets_->fds(); }
  // Nobody has: the address is free for another server.
  void Close() { sockets_.reset(); }

 private:
  Listener(ListenAddress address,
           std::shared_ptr<grpc::ServerCredentials> credentials)
      : address_(std::move(address)), credentials_(std::move(credentials)) {}

  const ListenAddress address_;
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::optional<ListeningSockets> sockets_;
  std::optional<Acceptor> acceptor_;
};

}  // namespace server

#endif  // SERVER_NET_LISTENER_H_

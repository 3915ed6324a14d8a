#include "server/net/listener.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/listen_address.h"
#include "server/net/listening_sockets.h"
#include "server/net/mutual_tls.h"

namespace server {

absl::StatusOr<std::unique_ptr<Listener>> Listener::Prepare(
    const corral::config::v1::ServerConfig& config) {
  ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(config.listen()));
  std::shared_ptr<grpc::ServerCredentials> credentials;
  if (address.is_socket()) {
    credentials = grpc::InsecureServerCredentials();
  } else {
    ASSIGN_OR_RETURN(credentials, MutualTls(config.tls()));
  }
  // make_unique cannot reach the constructor.
  return std::unique_ptr<Listener>(new Listener(
      std::move(address), std::move(credentials), config.max_connections()));
}

absl::Status Listener::Listen() {
  ASSIGN_OR_RETURN(ListeningSockets sockets, ListeningSockets::Open(address_));
  sockets_.emplace(std::move(sockets));
  return absl::OkStatus();
}

absl::Status Listener::Adopt(std::vector<sandbox::UniqueFd> sockets) {
  if (sockets_.has_value()) {
    LOG(WARNING) << "the predecessor listened on another address";
    ListeningSockets::Discard(address_, sockets);
    return absl::OkStatus();
  }
  absl::StatusOr<ListeningSockets> adopted =
      ListeningSockets::Adopt(address_, std::move(sockets));
  if (!adopted.ok()) {
    LOG(WARNING) << adopted.status().message();
    return Listen();
  }
  sockets_.emplace(*std::move(adopted));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<grpc::Server>> Listener::Start(
    grpc::ServerBuilder* builder) {
  Acceptor::Connections connections =
      builder->experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::
              FROM_FD,
          credentials_);
  std::unique_ptr<grpc::Server> server = builder->BuildAndStart();
  if (server == nullptr) {
    return absl::InternalError("gRPC does not start");
  }
  acceptor_.emplace(sockets_->fds(), std::move(connections), max_connections_);
  RETURN_IF_ERROR(acceptor_->Start());
  return server;
}

}  // namespace server

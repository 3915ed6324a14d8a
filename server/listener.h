// The address that the server listens on, made ready for gRPC, and the
// credentials that go with it.

#ifndef SERVER_LISTENER_H_
#define SERVER_LISTENER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/listen_address.h"

namespace server {

class Listener {
 public:
  // InvalidArgument: an address or a PEM file that is no good. AlreadyExists:
  // another server answers there. Makes the socket's directory for its owner
  // alone if it is missing, and removes a socket that nobody listens on.
  static absl::StatusOr<Listener> Prepare(
      const corral::config::v1::ServerConfig& config);

  // Starts the server that `builder` describes. The socket is its owner's alone
  // from its birth on.
  absl::StatusOr<std::unique_ptr<grpc::Server>> Start(
      grpc::ServerBuilder* builder) const;

 private:
  Listener(std::string address,
           std::shared_ptr<grpc::ServerCredentials> credentials)
      : address_(std::move(address)), credentials_(std::move(credentials)) {}

  std::string address_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
};

}  // namespace server

#endif  // SERVER_LISTENER_H_

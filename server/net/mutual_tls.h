// Credentials for TCP: server and client must both show a certificate.

#ifndef SERVER_NET_MUTUAL_TLS_H_
#define SERVER_NET_MUTUAL_TLS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "grpcpp/security/server_credentials.h"

namespace server {

// Reads the PEM files that `tls` names. InvalidArgument names the file that
// cannot be read, that does not hold a certificate or key, or whose key does
// not belong to the certificate.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MutualTls(
    const corral::config::v1::Tls& tls);

}  // namespace server

#endif  // SERVER_NET_MUTUAL_TLS_H_

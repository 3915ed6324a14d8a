// A connection to a corrald: the one client library of the bridges and of the
// command line.
//
// Where the server is: an address given by the user, else $CORRAL_SERVER, else
// the default socket
// ($XDG_RUNTIME_DIR/corral/corrald.sock, for root /run/corral/corrald.sock).
// When nothing listens on the default socket, a corrald that stands next to
// this program is started there, which ends by itself when it has been idle.
//
// Thread-safe: everything here may be used from any number of threads.

#ifndef BRIDGE_CLIENT_CONNECTION_H_
#define BRIDGE_CLIENT_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/client/server_address.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace client {

// How long a server may be gone until calls that can be repeated give up.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

struct ConnectOptions {
  // "unix:PATH" or "HOST:PORT"; empty: as described above.
  std::string server = {};
  // For HOST:PORT: PEM files. Empty: $CORRAL_TLS_CA, $CORRAL_TLS_CERT,
  // $CORRAL_TLS_KEY.
  std::string tls_ca_file = {};
  std::string tls_certificate_file = {};
  std::string tls_key_file = {};
};

class Connection {
 public:
  // Waits up to 10 s for the server to answer, of them up to 5 s for one that
  // is being restarted to listen: on a socket whose directory exists, or at
  // HOST:PORT. Unavailable: it does not; the message says what was tried.
  // InvalidArgument: the address, or HOST:PORT without certificates.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(
      const ConnectOptions& options);

  corral::v1::SandboxService::StubInterface& sandboxes() { return *sandboxes_; }
  corral::v1::ExecutionService::StubInterface& executions() {
    return *executions_;
  }
  corral::v1::AdminService::StubInterface& admin() { return *admin_; }

  // As ConnectOptions.server would name it.
  const std::string& address() const { return address_.text; }

  // Waits until calls can be made again, after one of them ended with
  // UNAVAILABLE: for a server that is being restarted, and on the default
  // socket by starting one. False: not by `deadline`, or `abandoned` (asked
  // several times a second) says that nobody waits any more.
  bool Reconnect(
      absl::Time deadline,
      const std::function<bool()>& abandoned = [] { return false; });

 private:
  Connection(ServerAddress address, std::shared_ptr<grpc::Channel> channel);

  const ServerAddress address_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<corral::v1::SandboxService::StubInterface> sandboxes_;
  std::unique_ptr<corral::v1::ExecutionService::StubInterface> executions_;
  std::unique_ptr<corral::v1::AdminService::StubInterface> admin_;
};

// The same code and message; of a BadRequest in the details, the message names
// the fields.
absl::Status ToStatus(const grpc::Status& status);

// The server was killed, restarted or upgraded, or drains, or has not found its
// sandbox again yet: the same call may be answered later. Of a call that its
// caller did not cancel.
bool IsServerGone(const grpc::Status& status);

// Of the ErrorInfo in the details; ERROR_REASON_UNSPECIFIED if there is none.
corral::v1::ErrorReason GetErrorReason(const grpc::Status& status);

}  // namespace client

#endif  // BRIDGE_CLIENT_CONNECTION_H_

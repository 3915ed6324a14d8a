// A connection to a corrald: the one client library of the bridges and of the
// command line.
//
// The server's address is, in this order: the one that the user gives,
// $CORRAL_SERVER, the default socket ($XDG_RUNTIME_DIR/corral/corrald.sock, for
// root /run/corral/corrald.sock). When nothing listens on the default socket,
// the corrald that stands next to this program is started there; it ends by
// itself when it has been idle.
//
// A connection on which nothing arrives any more is noticed by pings
// (Timing.keepalive_interval); calls on it then fail as if the server was gone.
//
// Thread-safe: everything here may be used from any number of threads.

#ifndef BRIDGE_CLIENT_CONNECTION_H_
#define BRIDGE_CLIENT_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/client/server_address.h"
#include "bridge/client/timing.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/port.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace client {

struct ConnectOptions {
  // "unix:PATH" or "HOST:PORT"; empty: as described above.
  std::string server = {};
  // The PEM files for HOST:PORT; those that are empty default to
  // $CORRAL_TLS_CA, $CORRAL_TLS_CERT and $CORRAL_TLS_KEY.
  std::string tls_ca_file = {};
  std::string tls_certificate_file = {};
  std::string tls_key_file = {};

  Timing timing = {};
};

class Connection {
 public:
  // A server that listens has 10 s to answer. One that is being restarted has
  // 5 s to listen again (on a socket whose directory exists, or at HOST:PORT),
  // and one that this call starts has 30 s to listen. Unavailable: no server
  // answers; the message says what was tried. InvalidArgument: a bad address,
  // or HOST:PORT without certificates.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(
      const ConnectOptions& options);

  corral::v1::SandboxService::StubInterface& sandboxes() { return *sandboxes_; }
  corral::v1::ExecutionService::StubInterface& executions() {
    return *executions_;
  }
  corral::v1::ScreenService::StubInterface& screens() { return *screens_; }
  corral::v1::PortService::StubInterface& ports() { return *ports_; }
  corral::v1::AdminService::StubInterface& admin() { return *admin_; }

  // The address of the server, in the form of ConnectOptions.server.
  const std::string& address() const { return address_.text; }
  const Timing& timing() const { return timing_; }

  // Waits until calls can be made again after one of them ended with
  // UNAVAILABLE: waits for a server that is being restarted, and starts one if
  // the address is the default socket. Returns false if `deadline` has passed,
  // or `abandoned` (called several times a second) returned true.
  bool Reconnect(
      absl::Time deadline,
      const std::function<bool()>& abandoned = [] { return false; });

 private:
  Connection(ServerAddress address, Timing timing,
             std::shared_ptr<grpc::Channel> channel);

  const ServerAddress address_;
  const Timing timing_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<corral::v1::SandboxService::StubInterface> sandboxes_;
  std::unique_ptr<corral::v1::ExecutionService::StubInterface> executions_;
  std::unique_ptr<corral::v1::ScreenService::StubInterface> screens_;
  std::unique_ptr<corral::v1::PortService::StubInterface> ports_;
  std::unique_ptr<corral::v1::AdminService::StubInterface> admin_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_CONNECTION_H_

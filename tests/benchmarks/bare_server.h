// The reference for the cost of gRPC itself: a server that only answers, in a
// process of its own, as corrald has one, on a Unix socket.
//
// GetServerInfo answers at once. StreamOutput sends bytes from memory.
//
// May be used by any thread, except Hold() and Release(), which belong to one.

#ifndef TESTS_BENCHMARKS_BARE_SERVER_H_
#define TESTS_BENCHMARKS_BARE_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

class BareServer {
 public:
  // Forks the server's process, so that this one must not have used gRPC yet.
  // `socket` is the path to listen on.
  static absl::StatusOr<std::unique_ptr<BareServer>> Start(
      const std::string& socket);
  // Ends the process.
  ~BareServer();
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;

  absl::StatusOr<absl::Duration> TimeHop();

  // Reads a stream of that many bytes. Calls `on_first_byte` once.
  absl::Status ReadStream(uint64_t bytes,
                          absl::FunctionRef<void()> on_first_byte);

  // See BareStreams.
  absl::Status Hold();
  absl::Status Release();

 private:
  BareServer(pid_t process, sandbox::UniqueFd control)
      : process_(process), control_(std::move(control)) {}
  absl::Status Connect(const std::string& address);
  absl::Status Command(char command);

  const pid_t process_;
  // Its end ends the process.
  sandbox::UniqueFd control_;
  std::unique_ptr<corral::v1::AdminService::Stub> admin_;
  std::unique_ptr<corral::v1::ExecutionService::Stub> executions_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_BARE_SERVER_H_

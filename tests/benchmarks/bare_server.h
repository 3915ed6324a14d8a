// The reference for the cost of gRPC itself: a server in this process, on a
// Unix socket, that only answers.
//
// GetServerInfo answers at once. StreamOutput sends bytes from memory.
//
// May be used by any thread.

#ifndef TESTS_BENCHMARKS_BARE_SERVER_H_
#define TESTS_BENCHMARKS_BARE_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "tests/benchmarks/bare_streams.h"

namespace tests {

class BareServer {
 public:
  // `socket` is the path to listen on.
  static absl::StatusOr<std::unique_ptr<BareServer>> Start(
      const std::string& socket);
  ~BareServer();

  absl::StatusOr<absl::Duration> TimeHop();

  // Reads a stream of that many bytes. Calls `on_first_byte` once.
  absl::Status ReadStream(uint64_t bytes,
                          absl::FunctionRef<void()> on_first_byte);

  BareStreams& streams() { return *streams_; }

 private:
  BareServer() = default;

  std::unique_ptr<corral::v1::AdminService::CallbackService> admin_service_;
  std::unique_ptr<BareStreams> streams_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<corral::v1::AdminService::Stub> admin_;
  std::unique_ptr<corral::v1::ExecutionService::Stub> executions_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_BARE_SERVER_H_

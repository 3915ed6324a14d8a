// The reference for the cost of gRPC itself: a server in this process, on a
// Unix socket, that only answers.
//
// GetServerInfo answers at once. StreamOutput sends as many bytes as the
// request's name says, in chunks of 256 KiB, as corrald does, from memory.

#ifndef TESTS_BENCHMARKS_BARE_SERVER_H_
#define TESTS_BENCHMARKS_BARE_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace tests {

class BareServer {
 public:
  // `socket` is the path to listen on.
  static absl::StatusOr<std::unique_ptr<BareServer>> Start(
      const std::string& socket);
  ~BareServer();

  absl::StatusOr<absl::Duration> TimeHop();

  // The time from the first chunk to the end of a stream of that many bytes, a
  // multiple of 256 KiB. Used by any thread.
  absl::StatusOr<absl::Duration> TimeStream(uint64_t bytes);

 private:
  BareServer() = default;

  std::unique_ptr<corral::v1::AdminService::CallbackService> admin_service_;
  std::unique_ptr<corral::v1::ExecutionService::CallbackService>
      execution_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<corral::v1::AdminService::Stub> admin_;
  std::unique_ptr<corral::v1::ExecutionService::Stub> executions_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_BARE_SERVER_H_

// Calls of a persistent client: a call that fails because the server is away is
// repeated with the same request.

#ifndef TESTS_CHAOS_CALLS_H_
#define TESTS_CHAOS_CALLS_H_

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace tests {

// Returns true if the status is Unavailable, but not STORAGE_FAILED.
bool IsServerAway(const grpc::Status& status);

// The reason of the ErrorInfo; empty if there is none.
std::string ReasonOf(const grpc::Status& status);

std::string ToString(const grpc::Status& status);

// Thread-safe.
class Calls {
 public:
  using SandboxStub = corral::v1::SandboxService::Stub;
  using ExecutionStub = corral::v1::ExecutionService::Stub;

  // Longer than any of these calls takes while the server comes and goes, also
  // on a loaded machine.
  static constexpr absl::Duration kPatience = absl::Seconds(120);

  explicit Calls(const std::shared_ptr<grpc::Channel>& channel,
                 absl::Duration patience = kPatience)
      : patience_(patience),
        sandboxes_(corral::v1::SandboxService::NewStub(channel)),
        executions_(corral::v1::ExecutionService::NewStub(channel)) {}

  // Call(&Calls::ExecutionStub::GetExecution, request, &response). Returns the
  // first status that is not Unavailable or is STORAGE_FAILED; after the
  // patience, Unavailable or DeadlineExceeded.
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (ExecutionStub::*method)(grpc::ClientContext*,
                                                          const Request&,
                                                          Response*),
                    const Request& request, Response* response) {
    return Repeat(*executions_, method, request, response);
  }
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (SandboxStub::*method)(grpc::ClientContext*,
                                                        const Request&,
                                                        Response*),
                    const Request& request, Response* response) {
    return Repeat(*sandboxes_, method, request, response);
  }

  ExecutionStub& executions() { return *executions_; }

 private:
  template <typename Stub, typename Method, typename Request, typename Response>
  grpc::Status Repeat(Stub& stub, Method method, const Request& request,
                      Response* response) const {
    const absl::Time deadline = absl::Now() + patience_;
    for (;;) {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      context.set_deadline(absl::ToChronoTime(deadline));
      grpc::Status status = (stub.*method)(&context, request, response);
      if (!IsServerAway(status) || absl::Now() > deadline) {
        return status;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
  }

  const absl::Duration patience_;
  const std::unique_ptr<SandboxStub> sandboxes_;
  const std::unique_ptr<ExecutionStub> executions_;
};

}  // namespace tests

#endif  // TESTS_CHAOS_CALLS_H_

// The rules of the real server for requests, for a fake server: a client whose
// request corrald would refuse must fail in its tests.
//
// Each function fails with the real server's error. What a rule needs of the
// server's state is a parameter. Ceilings of a configuration do not apply.

#ifndef TESTS_FAKES_REQUEST_RULES_H_
#define TESTS_FAKES_REQUEST_RULES_H_

#include "absl/status/status.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace tests {

absl::Status CheckRequest(const corral::v1::CreateSandboxRequest& request);
absl::Status CheckRequest(const corral::v1::ListSandboxesRequest& request);
absl::Status CheckRequest(const corral::v1::ListExecutionsRequest& request);
absl::Status CheckRequest(const corral::v1::WaitExecutionRequest& request);

// `sandbox` is the one in which the command is to run.
absl::Status CheckRequest(const corral::v1::StartExecutionRequest& request,
                          const corral::v1::Sandbox& sandbox);
// `sandbox` is ignored if the request makes a sandbox.
absl::Status CheckRequest(const corral::v1::RunExecutionRequest& request,
                          const corral::v1::Sandbox& sandbox);

// `execution` is the one that the request names.
absl::Status CheckRequest(const corral::v1::ReadOutputRequest& request,
                          const corral::v1::Execution& execution);
absl::Status CheckRequest(const corral::v1::StreamOutputRequest& request,
                          const corral::v1::Execution& execution);
absl::Status CheckRequest(const corral::v1::AcknowledgeOutputRequest& request,
                          const corral::v1::Execution& execution);
absl::Status CheckRequest(const corral::v1::WriteInputRequest& request,
                          const corral::v1::Execution& execution);
absl::Status CheckRequest(const corral::v1::SignalExecutionRequest& request,
                          const corral::v1::Execution& execution);
absl::Status CheckRequest(const corral::v1::ResizeTerminalRequest& request,
                          const corral::v1::Execution& execution);

}  // namespace tests

#endif  // TESTS_FAKES_REQUEST_RULES_H_

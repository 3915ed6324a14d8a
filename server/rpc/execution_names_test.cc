// Calls for executions that do not exist, or are not known yet.

#include <functional>
#include <string>
#include <vector>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "server/rpc/recovery_fixture.h"

namespace server {
namespace {

class ExecutionNamesTest : public RecoveryFixture {
 protected:
  // Returns all calls that name an execution, except for streams.
  std::vector<std::function<grpc::Status()>> CallsFor(const std::string& name) {
    std::vector<std::function<grpc::Status()>> calls =
        CallsOfTheSupervisor(name);
    calls.erase(calls.end() - 2);  // the start
    corral::v1::GetExecutionRequest get;
    get.set_name(name);
    calls.push_back(Later(&ExecutionStub::GetExecution, get));
    corral::v1::WaitExecutionRequest wait;
    wait.set_name(name);
    calls.push_back(Later(&ExecutionStub::WaitExecution, wait));
    corral::v1::ReadOutputRequest read;
    read.set_name(name);
    calls.push_back(Later(&ExecutionStub::ReadOutput, read));
    return calls;
  }
};

TEST_F(ExecutionNamesTest, EveryCallReportsAnExecutionThatDoesNotExist) {
  CreateSandbox("box");
  for (const char* name : {"tenants/default/sandboxes/box/executions/none",
                           "tenants/default/sandboxes/none/executions/none"}) {
    for (const auto& call : CallsFor(name)) {
      EXPECT_EQ(Reason(call()), "EXECUTION_NOT_FOUND") << name;
    }
  }
  for (const auto& call : CallsFor("tenants/default/sandboxes/box")) {
    EXPECT_EQ(Field(call()), "name");
  }
}

TEST_F(ExecutionNamesTest, EveryCallMayBeRepeatedForASandboxThatIsNotReadYet) {
  sandboxes_->registry().Reserve("hidden");
  for (const auto& call :
       CallsFor("tenants/default/sandboxes/hidden/executions/job")) {
    const grpc::Status status = call();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  }
}

}  // namespace
}  // namespace server

// Signals and resizes that the supervisor does not carry out.

#include "server/rpc/control_call.h"

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/execution.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::SignalExecutionRequest;
using ::tests::FakeSupervisor;

// "box" has a command in a terminal of 24 rows.
class ControlCallTest : public ServerFixture {
 protected:
  ControlCallTest() {
    corral::v1::Command command = Command();
    command.mutable_terminal()->set_rows(24);
    command.mutable_terminal()->set_columns(80);
    name_ = StartExecution(CreateSandbox("box"), command);
    id_ = name_.substr(name_.rfind('/') + 1);
    execution_ = sandboxes_->registry().Find("box")->FindExecution(id_);
  }

  grpc::Status Signal(SignalExecutionRequest::Scope scope) {
    SignalExecutionRequest request;
    request.set_name(name_);
    request.set_signal(SIGTERM);
    request.set_scope(scope);
    google::protobuf::Empty response;
    return Call(execution_stub_.get(), &ExecutionStub::SignalExecution, request,
                &response);
  }
  grpc::Status Resize(const std::string& name, uint32_t rows) {
    corral::v1::ResizeTerminalRequest request;
    request.set_name(name);
    request.mutable_size()->set_rows(rows);
    request.mutable_size()->set_columns(100);
    google::protobuf::Empty response;
    return Call(execution_stub_.get(), &ExecutionStub::ResizeTerminal, request,
                &response);
  }

  std::string name_;
  std::string id_;
  std::shared_ptr<Execution> execution_;
};

TEST_F(ControlCallTest, ReportsWhyTheSupervisorRefuses) {
  const struct {
    wire::Reply::Failure failure;
    const char* reason;
  } cases[] = {
      {wire::Reply::NO_SUCH_EXECUTION, "EXECUTION_NOT_FOUND"},
      {wire::Reply::EXECUTION_ENDED, "EXECUTION_ENDED"},
      {wire::Reply::NOT_A_TERMINAL, "EXECUTION_ENDED"},
      {wire::Reply::SUPERVISOR_GONE, "EXECUTION_ENDED"},
      {wire::Reply::FAULT, "SERVER_FAULT"},
  };
  for (const auto& [failure, reason] : cases) {
    const absl::Status refusal = sandbox::MakeFailure(failure, "why");
    factory_.With("box", [&refusal](FakeSupervisor& supervisor) {
      supervisor.RefuseControl(refusal);
    });
    EXPECT_EQ(Reason(Signal(SignalExecutionRequest::TREE)), reason);
    EXPECT_EQ(Reason(Resize(name_, 50)), reason);
    EXPECT_EQ(execution_->terminal_size().rows(), 24);
  }
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseControl(absl::OkStatus());
  });
  EXPECT_TRUE(Resize(name_, 50).ok());
  EXPECT_EQ(execution_->terminal_size().rows(), 50);
}

TEST_F(ControlCallTest, ReportsATerminalThatIsClosedAsEnded) {
  factory_.With("box", [this](FakeSupervisor& supervisor) {
    supervisor.CloseTerminal(id_);
  });
  EXPECT_EQ(Reason(Resize(name_, 50)), "EXECUTION_ENDED");
  EXPECT_EQ(Reason(Signal(SignalExecutionRequest::FOREGROUND_GROUP)),
            "EXECUTION_ENDED");
  EXPECT_TRUE(Signal(SignalExecutionRequest::TREE).ok());
}

TEST_F(ControlCallTest, ReportsAWrongSizeBeforeAMissingTerminal) {
  const std::string name =
      StartExecution("tenants/default/sandboxes/box", Command());
  EXPECT_EQ(Field(Resize(name, 0)), "size.rows");
  EXPECT_EQ(Reason(Resize(name, 50)), "NOT_A_TERMINAL");
}

}  // namespace
}  // namespace server

// The bound on waiting calls, with a server that serves one at a time.

#include <string>
#include <thread>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

using ::tests::FakeSupervisor;

class WaitingCallsTest : public ServerFixture {
 protected:
  WaitingCallsTest() : ServerFixture(kMaxSandboxes, kMaxExecutions, 1) {}

  std::string StartWithInput() {
    corral::v1::Command command = Command({"cat"});
    command.set_stdin(true);
    return StartExecution(CreateSandbox("box"), command);
  }
  grpc::Status Write(const std::string& name, corral::v1::InputState* state) {
    corral::v1::WriteInputRequest request;
    request.set_name(name);
    request.set_offset(0);
    request.set_data("x");
    return Call(execution_stub_.get(), &ExecutionStub::WriteInput, request,
                state);
  }
  void ExpectRefused(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(Reason(status), "TOO_MANY_CALLS");
  }
};

TEST_F(WaitingCallsTest, RefusesAStreamWhileInputIsHeld) {
  const std::string name = StartWithInput();
  factory_.With("box",
                [](FakeSupervisor& supervisor) { supervisor.HoldInput(); });
  corral::v1::InputState state;
  grpc::Status written;
  std::thread writer([&] { written = Write(name, &state); });
  size_t held = 0;
  while (held == 0) {
    factory_.With("box", [&held](FakeSupervisor& supervisor) {
      held = supervisor.held_inputs();
    });
  }
  grpc::Status status;
  Stream(name)->Rest(&status);
  ExpectRefused(status);

  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "died");
  });
  writer.join();
  EXPECT_TRUE(written.ok()) << written.error_message();
  EXPECT_TRUE(Stream(name)->Next().has_opened());
}

}  // namespace
}  // namespace server

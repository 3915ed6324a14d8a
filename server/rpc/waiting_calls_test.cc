// The bounds on waiting calls and on the input that they hold, with a server
// that serves few of them.

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/execution.h"
#include "server/core/sandboxes.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

using ::tests::FakeSupervisor;

class WaitingCallsTest : public ServerFixture {
 protected:
  explicit WaitingCallsTest(size_t max_calls = 1,
                            uint64_t max_input = UINT64_MAX)
      : ServerFixture(kMaxSandboxes, kMaxExecutions, max_calls, max_input) {}

  // Starts a command that does not read its input.
  std::string StartWithInput(const std::string& sandbox) {
    corral::v1::Command command = Command({"cat"});
    command.set_stdin(true);
    std::string name = StartExecution(CreateSandbox(sandbox), command);
    factory_.With(sandbox,
                  [](FakeSupervisor& supervisor) { supervisor.HoldInput(); });
    return name;
  }
  grpc::Status Write(const std::string& name, const std::string& data) {
    corral::v1::WriteInputRequest request;
    request.set_name(name);
    request.set_data(data);
    corral::v1::InputState state;
    return Call(execution_stub_.get(), &ExecutionStub::WriteInput, request,
                &state);
  }
  void AwaitHeldInput(const std::string& sandbox) {
    size_t held = 0;
    while (held == 0) {
      factory_.With(sandbox, [&held](FakeSupervisor& supervisor) {
        held = supervisor.held_inputs();
      });
      std::this_thread::yield();
    }
  }
  // Ends the sandbox, and with it the writes of input.
  void Die(const std::string& sandbox) {
    factory_.With(sandbox, [](FakeSupervisor& supervisor) {
      supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "died");
    });
  }
  void ExpectRefused(const grpc::Status& status, const std::string& reason) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(Reason(status), reason);
  }
};

TEST_F(WaitingCallsTest, RefusesAStreamWhileInputIsHeld) {
  const std::string name = StartWithInput("box");
  grpc::Status written;
  std::thread writer([&] { written = Write(name, "x"); });
  AwaitHeldInput("box");
  grpc::Status status;
  Stream(name)->Rest(&status);
  ExpectRefused(status, "TOO_MANY_CALLS");

  Die("box");
  writer.join();
  EXPECT_TRUE(written.ok()) << written.error_message();
  EXPECT_TRUE(Stream(name)->Next().has_opened());
}

TEST_F(WaitingCallsTest, RefusesAWaitWhileAnotherClientWaits) {
  const std::string name = StartOne();
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout()->set_seconds(3600);
  grpc::ClientContext context;
  grpc::Status cancelled;
  std::thread waiter([&] {
    corral::v1::Execution unused;
    cancelled = execution_stub_->WaitExecution(&context, request, &unused);
  });
  timers_.AwaitTimers(1);  // that of the wait
  corral::v1::Execution execution;
  ExpectRefused(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                     request, &execution),
                "TOO_MANY_CALLS");

  context.TryCancel();
  waiter.join();
  EXPECT_EQ(cancelled.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
  factory_.Exit(name, 0);
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::EXITED);
}

class WaitingInputTest : public WaitingCallsTest {
 protected:
  static constexpr uint64_t kMaxInput = 4 << 20;

  WaitingInputTest() : WaitingCallsTest(kMaxWaitingCalls, kMaxInput) {}

  const std::string megabyte_ = std::string(1 << 20, 'x');
};

TEST_F(WaitingInputTest, LeavesRoomForTheInputOfAnotherCommand) {
  const std::string greedy = StartWithInput("greedy");
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] { EXPECT_TRUE(Write(greedy, megabyte_).ok()); });
    if (i == 0) {
      AwaitHeldInput("greedy");
    }
  }
  const auto execution = sandboxes_->registry().Find("greedy")->FindExecution(
      greedy.substr(greedy.rfind('/') + 1));
  while (execution->input_queue().waiting() == 0) {
    std::this_thread::yield();
  }
  ExpectRefused(Write(greedy, megabyte_), "TOO_MUCH_INPUT");

  const std::string modest = StartWithInput("modest");
  std::thread writer([&] { EXPECT_TRUE(Write(modest, megabyte_).ok()); });
  AwaitHeldInput("modest");
  Die("modest");
  writer.join();
  Die("greedy");
  for (std::thread& each : writers) {
    each.join();
  }
}

TEST_F(WaitingCallsTest, AWaitThatIsOverLeavesNoTimer) {
  const std::string name = StartOne();
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout()->set_seconds(3600);
  corral::v1::Execution execution;
  std::thread waiter([&] {
    EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                     request, &execution)
                    .ok());
  });
  timers_.AwaitTimers(1);
  factory_.Exit(name, 0);
  waiter.join();
  EXPECT_TRUE(activity_->AwaitNoCall(absl::Hours(1)));
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(WaitingCallsTest, AnswersAWaitForWhatHasEndedAlsoWhenThereAreTooMany) {
  const std::string ended = StartOne();
  factory_.Exit(ended, 3);
  EXPECT_EQ(Wait(ended).exit().code(), 3);
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
  const std::string name = StartWithInput("box");
  std::thread writer([&] { EXPECT_TRUE(Write(name, "x").ok()); });
  AwaitHeldInput("box");
  EXPECT_EQ(Wait(ended).exit().code(), 3);
  Die("box");
  writer.join();
}

}  // namespace
}  // namespace server

// The calls of ExecutionService but those that read output, from a client's
// side.

#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/sandbox.h"
#include "server/server_fixture.h"
#include "server/session.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::tests::FakeSupervisor;

class ExecutionServiceTest : public ServerFixture {
 protected:
  grpc::Status Start(const corral::v1::StartExecutionRequest& request,
                     corral::v1::Execution* response) {
    return Call(execution_stub_.get(), &ExecutionStub::StartExecution, request,
                response);
  }

  grpc::Status Write(const std::string& name, uint64_t offset,
                     const std::string& data, corral::v1::InputState* response,
                     bool eof = false) {
    corral::v1::WriteInputRequest request;
    request.set_name(name);
    request.set_offset(offset);
    request.set_data(data);
    request.set_eof(eof);
    return Call(execution_stub_.get(), &ExecutionStub::WriteInput, request,
                response);
  }

  grpc::Status Signal(const corral::v1::SignalExecutionRequest& request) {
    google::protobuf::Empty response;
    return Call(execution_stub_.get(), &ExecutionStub::SignalExecution, request,
                &response);
  }

  grpc::Status Resize(const std::string& name, uint32_t rows,
                      uint32_t columns) {
    corral::v1::ResizeTerminalRequest request;
    request.set_name(name);
    request.mutable_size()->set_rows(rows);
    request.mutable_size()->set_columns(columns);
    google::protobuf::Empty response;
    return Call(execution_stub_.get(), &ExecutionStub::ResizeTerminal, request,
                &response);
  }

  grpc::Status Delete(const std::string& name) {
    corral::v1::DeleteExecutionRequest request;
    request.set_name(name);
    google::protobuf::Empty response;
    return Call(execution_stub_.get(), &ExecutionStub::DeleteExecution, request,
                &response);
  }

  std::string StartWithInput() {
    corral::v1::Command command = Command({"cat"});
    command.set_stdin(true);
    return StartExecution(CreateSandbox("box"), command);
  }

  static corral::v1::RunExecutionRequest RunInNewSandbox() {
    corral::v1::RunExecutionRequest request;
    request.set_parent("tenants/default");
    *request.mutable_command() = Command();
    return request;
  }

  static std::string SandboxOf(const std::string& execution_name) {
    const std::string rest =
        execution_name.substr(std::string("tenants/default/sandboxes/").size());
    return rest.substr(0, rest.find('/'));
  }
};

TEST_F(ExecutionServiceTest, StartsAndAnswersWhenItRuns) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(CreateSandbox("box"));
  request.set_execution_id("job");
  *request.mutable_command() = Command({"make", "-j2"});
  corral::v1::Execution response;
  ASSERT_TRUE(Start(request, &response).ok());
  EXPECT_EQ(response.name(), "tenants/default/sandboxes/box/executions/job");
  EXPECT_EQ(response.state(), corral::v1::Execution::RUNNING);
  EXPECT_EQ(response.command().argv(1), "-j2");
  EXPECT_THAT(response.streams(), SizeIs(2));
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_THAT(supervisor.command("job").argv(), ElementsAre("make", "-j2"));
    EXPECT_THAT(supervisor.command("job").environment(),
                Contains(StartsWith("PATH=")));
  });
  EXPECT_EQ(Reason(Start(request, &response)), "EXECUTION_EXISTS");
}

TEST_F(ExecutionServiceTest, RefusesWhatIsNoCommand) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(CreateSandbox("box"));
  corral::v1::Execution response;
  EXPECT_EQ(Field(Start(request, &response)), "command.argv");
  *request.mutable_command() = Command({"a", std::string("b\0c", 3)});
  EXPECT_EQ(Field(Start(request, &response)), "command.argv[1]");
  *request.mutable_command() = Command({std::string(2 << 20, 'x')});
  EXPECT_EQ(Field(Start(request, &response)), "command.argv");
  *request.mutable_command() = Command();
  request.mutable_command()->set_working_directory("relative");
  EXPECT_EQ(Field(Start(request, &response)), "command.working_directory");
  request.mutable_command()->clear_working_directory();
  request.set_execution_id("No");
  EXPECT_EQ(Field(Start(request, &response)), "execution_id");
  request.clear_execution_id();
  request.set_parent("box");
  EXPECT_EQ(Field(Start(request, &response)), "parent");
  request.set_parent("tenants/default/sandboxes/none");
  EXPECT_EQ(Reason(Start(request, &response)), "SANDBOX_NOT_FOUND");
}

TEST_F(ExecutionServiceTest, TakesManyEnvironmentEntries) {
  corral::v1::Command command = Command();
  for (int i = 0; i < 10'000; ++i) {
    auto* variable = command.add_environment();
    variable->set_name(absl::StrCat("N", i));
    variable->set_value("v");
  }
  EXPECT_EQ(Get(StartExecution(CreateSandbox(), command))
                .command()
                .environment_size(),
            10'000);
}

TEST_F(ExecutionServiceTest, KeepsNoMoreExecutionsThanConfigured) {
  const std::string sandbox = CreateSandbox();
  for (int i = 0; i < kMaxExecutions; ++i) {
    StartExecution(sandbox, Command());
  }
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  *request.mutable_command() = Command();
  corral::v1::Execution response;
  const grpc::Status status = Start(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "TOO_MANY_EXECUTIONS");
}

TEST_F(ExecutionServiceTest, AFailedStartIsAStateAndNoError) {
  const std::string sandbox = CreateSandbox("box");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    wire::StartFailure failure;
    failure.set_stage(wire::StartFailure::CHDIR);
    failure.set_errno_value(2);
    supervisor.FailStarts(failure);
  });
  const corral::v1::Execution execution =
      Get(StartExecution(sandbox, Command()));
  EXPECT_EQ(execution.state(), corral::v1::Execution::FAILED_TO_START);
  EXPECT_EQ(execution.start_failure().stage(), corral::v1::StartFailure::CHDIR);
}

TEST_F(ExecutionServiceTest, WaitsForTheEnd) {
  const std::string name = StartOne();
  corral::v1::Execution end;
  std::thread waiter([&] { end = Wait(name); });
  factory_.Exit(name, 7);
  waiter.join();
  EXPECT_EQ(end.exit().code(), 7);
  EXPECT_EQ(end.exit().cause(), corral::v1::ExitStatus::NORMAL);
}

TEST_F(ExecutionServiceTest, AWaitThatTimesOutAnswersTheStateThen) {
  const std::string name = StartOne();
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout();
  corral::v1::Execution response;
  std::thread waiter([&] {
    EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                     request, &response)
                    .ok());
  });
  timers_.AwaitTimers(1);
  timers_.Advance(absl::ZeroDuration());
  waiter.join();
  EXPECT_EQ(response.state(), corral::v1::Execution::RUNNING);

  request.mutable_timeout()->set_seconds(-1);
  EXPECT_EQ(Field(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                       request, &response)),
            "timeout");
}

TEST_F(ExecutionServiceTest, DeletingAnswersItsWaitersWithItsEnd) {
  const std::string name = StartOne();
  const auto stream = Stream(name);
  EXPECT_TRUE(stream->Next().has_opened());
  factory_.Write(name, wire::STDOUT, "last words");
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout()->set_seconds(3600);
  corral::v1::Execution end;
  std::thread waiter([&] {
    Call(execution_stub_.get(), &ExecutionStub::WaitExecution, request, &end);
  });
  // The stream's heartbeat and the wait's timeout: both calls have begun.
  timers_.AwaitTimers(2);
  EXPECT_TRUE(Delete(name).ok());
  const Events rest = stream->Rest();
  EXPECT_EQ(BytesOf(rest, corral::v1::STDOUT), "last words");
  EXPECT_EQ(rest.back().ended().exit().signal(), SIGKILL);
  waiter.join();
  EXPECT_EQ(end.exit().cause(), corral::v1::ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(Reason(Delete(name)), "EXECUTION_NOT_FOUND");
}

TEST_F(ExecutionServiceTest, WritesInputAtItsOffset) {
  const std::string name = StartWithInput();
  corral::v1::InputState state;
  ASSERT_TRUE(Write(name, 0, "hello", &state).ok());
  EXPECT_EQ(state.accepted_offset(), 5);
  ASSERT_TRUE(Write(name, 0, "hello", &state).ok());
  EXPECT_EQ(state.accepted_offset(), 5);
  const grpc::Status gap = Write(name, 6, "x", &state);
  EXPECT_EQ(gap.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Reason(gap), "OFFSET_OUT_OF_RANGE");
  ASSERT_TRUE(Write(name, 5, "", &state, /*eof=*/true).ok());
  EXPECT_TRUE(state.closed());
  EXPECT_TRUE(Get(name).input().closed());
  ASSERT_TRUE(Write(name, 5, "too late", &state).ok());
  EXPECT_EQ(state.accepted_offset(), 5);
}

TEST_F(ExecutionServiceTest, RefusesInputThatNobodyTakes) {
  const std::string name = StartOne();
  corral::v1::InputState state;
  EXPECT_EQ(Reason(Write(name, 0, "x", &state)), "INPUT_CLOSED");
  EXPECT_EQ(Field(Write(name, 0, std::string((1 << 20) + 1, 'x'), &state)),
            "data");
}

TEST_F(ExecutionServiceTest, AHeldInputHoldsUpNoOtherCall) {
  const std::string name = StartWithInput();
  factory_.With("box",
                [](FakeSupervisor& supervisor) { supervisor.HoldInput(); });
  corral::v1::InputState state;
  grpc::Status status;
  std::thread writer([&] { status = Write(name, 0, "x", &state); });
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(absl::UnavailableError("died"));
  });
  writer.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(state.closed());
}

TEST_F(ExecutionServiceTest, SendsASignal) {
  const std::string sandbox = CreateSandbox("box");
  const std::string name = StartExecution(sandbox, Command());
  corral::v1::SignalExecutionRequest request;
  request.set_name(name);
  request.set_signal(SIGTERM);
  request.mutable_kill_after()->set_seconds(5);
  ASSERT_TRUE(Signal(request).ok());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.last_signal().signal(), SIGTERM);
    EXPECT_EQ(supervisor.last_signal().scope(), wire::Signal::TREE);
    EXPECT_EQ(supervisor.last_signal().kill_after_ns(), 5'000'000'000);
  });
  request.set_scope(corral::v1::SignalExecutionRequest::FOREGROUND_GROUP);
  EXPECT_EQ(Reason(Signal(request)), "NOT_A_TERMINAL");
  request.set_scope(corral::v1::SignalExecutionRequest::LEADER);
  request.set_signal(65);
  EXPECT_EQ(Field(Signal(request)), "signal");
  request.set_signal(SIGKILL);
  request.mutable_kill_after()->set_seconds(3601);
  EXPECT_EQ(Field(Signal(request)), "kill_after");
  request.clear_kill_after();
  ASSERT_TRUE(Signal(request).ok());
  EXPECT_EQ(Wait(name).exit().cause(), corral::v1::ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(Reason(Signal(request)), "EXECUTION_ENDED");
}

TEST_F(ExecutionServiceTest, ResizesATerminalOnly) {
  corral::v1::Command command = Command();
  command.mutable_terminal()->set_rows(24);
  command.mutable_terminal()->set_columns(80);
  const std::string sandbox = CreateSandbox("box");
  const std::string name = StartExecution(sandbox, command);
  ASSERT_TRUE(Resize(name, 50, 100).ok());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.last_resize().rows(), 50);
    EXPECT_EQ(supervisor.last_resize().columns(), 100);
  });
  EXPECT_EQ(Field(Resize(name, 0, 100)), "size.rows");
  EXPECT_EQ(Reason(Resize(StartExecution(sandbox, Command()), 50, 100)),
            "NOT_A_TERMINAL");
  factory_.Exit(name, 0);
  EXPECT_EQ(Reason(Resize(name, 50, 100)), "EXECUTION_ENDED");
}

TEST_F(ExecutionServiceTest, ListsPageByPage) {
  const std::string a = CreateSandbox("a");
  const std::string b = CreateSandbox("b");
  for (int i = 0; i < 3; ++i) {
    StartExecution(a, Command());
    StartExecution(b, Command());
  }
  corral::v1::ListExecutionsRequest request;
  request.set_parent("tenants/default/sandboxes/-");
  request.set_page_size(4);
  corral::v1::ListExecutionsResponse first;
  ASSERT_TRUE(Call(execution_stub_.get(), &ExecutionStub::ListExecutions,
                   request, &first)
                  .ok());
  ASSERT_THAT(first.executions(), SizeIs(4));
  EXPECT_EQ(SandboxOf(first.executions(2).name()), "a");
  EXPECT_EQ(SandboxOf(first.executions(3).name()), "b");
  request.set_page_token(first.next_page_token());
  corral::v1::ListExecutionsResponse second;
  ASSERT_TRUE(Call(execution_stub_.get(), &ExecutionStub::ListExecutions,
                   request, &second)
                  .ok());
  EXPECT_THAT(second.executions(), SizeIs(2));
  EXPECT_TRUE(second.next_page_token().empty());

  request.set_page_size(-1);
  EXPECT_EQ(Field(Call(execution_stub_.get(), &ExecutionStub::ListExecutions,
                       request, &second)),
            "page_size");
  request.set_page_size(0);
  request.set_parent("tenants/default/sandboxes/none");
  EXPECT_EQ(Reason(Call(execution_stub_.get(), &ExecutionStub::ListExecutions,
                        request, &second)),
            "SANDBOX_NOT_FOUND");
}

TEST_F(ExecutionServiceTest, APageStaysSmall) {
  const std::string sandbox = CreateSandbox();
  for (int i = 0; i < 4; ++i) {
    StartExecution(sandbox, Command({"a", std::string(1000 << 10, 'x')}));
  }
  corral::v1::ListExecutionsRequest request;
  request.set_parent(sandbox);
  corral::v1::ListExecutionsResponse response;
  ASSERT_TRUE(Call(execution_stub_.get(), &ExecutionStub::ListExecutions,
                   request, &response)
                  .ok());
  EXPECT_THAT(response.executions(), SizeIs(2));
  EXPECT_FALSE(response.next_page_token().empty());
}

TEST_F(ExecutionServiceTest, ASandboxMadeForOneCommandGoesWithItsEnd) {
  const auto call = Run(RunInNewSandbox());
  const std::string name = call->Next().opened().name();
  factory_.Write(name, wire::STDOUT, "x");
  factory_.Exit(name, 0);
  const Events rest = call->Rest();
  EXPECT_EQ(rest.back().ended().exit().code(), 0);
  AwaitNoSandbox();
}

TEST_F(ExecutionServiceTest, ASandboxMadeForOneCommandGoesWhenNobodyWatches) {
  const auto call = Run(RunInNewSandbox());
  const std::string name = call->Next().opened().name();
  call->context.TryCancel();
  grpc::Status status;
  call->Rest(&status);
  // Somebody comes back in time: it stays.
  const auto again = Stream(name);
  EXPECT_TRUE(again->Next().has_opened());
  timers_.Advance(Session::kUnwatchedLifetime);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);

  again->context.TryCancel();
  again->Rest(&status);
  // The server notices in its own time, and then sets its timer.
  while (sandboxes_->registry().size() > 0) {
    timers_.Advance(Session::kUnwatchedLifetime);
  }
  AwaitNoSandbox();
}

TEST_F(ExecutionServiceTest, ARunInAnExistingSandboxLeavesIt) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(CreateSandbox());
  *request.mutable_command() = Command();
  const auto call = Run(request);
  factory_.Exit(call->Next().opened().name(), 0);
  call->Rest();
  EXPECT_EQ(sandboxes_->registry().size(), 1);
  request.set_sandbox_id("other");
  grpc::Status status;
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "parent");
}

TEST_F(ExecutionServiceTest, ARunThatFailsLeavesNothing) {
  grpc::Status status;
  corral::v1::RunExecutionRequest request = RunInNewSandbox();
  request.mutable_command()->clear_argv();
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "command.argv");
  request = RunInNewSandbox();
  request.mutable_sandbox()->mutable_limits()->set_memory_bytes(0);
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "sandbox.limits.memory_bytes");
  request = RunInNewSandbox();
  request.set_parent("tenants/other");
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "parent");
  factory_.FailCreations(absl::FailedPreconditionError("no user namespaces"));
  Run(RunInNewSandbox())->Rest(&status);
  EXPECT_EQ(Reason(status), "ISOLATION_UNAVAILABLE");
  AwaitNoSandbox();
}

}  // namespace
}  // namespace server

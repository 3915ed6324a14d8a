// WriteInput, SignalExecution and ResizeTerminal, from a client's side.

#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/client_context.h"
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
using ::tests::FakeSupervisor;

class ExecutionControlTest : public ServerFixture {
 protected:
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

  // Blocks until a write waits behind the one that has begun.
  void AwaitWaitingInput(const std::string& name) {
    const auto sandbox = sandboxes_->registry().Find("box");
    const auto execution =
        sandbox->FindExecution(name.substr(name.rfind('/') + 1));
    while (execution->input_queue().waiting() == 0) {
      std::this_thread::yield();
    }
  }

  std::string StartWithInput() {
    corral::v1::Command command = Command({"cat"});
    command.set_stdin(true);
    return StartExecution(CreateSandbox("box"), command);
  }
};

TEST_F(ExecutionControlTest, WritesInputAtItsOffset) {
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

TEST_F(ExecutionControlTest, RefusesInputThatNobodyTakes) {
  const std::string name = StartOne();
  corral::v1::InputState state;
  EXPECT_EQ(Reason(Write(name, 0, "x", &state)), "INPUT_CLOSED");
  EXPECT_EQ(Field(Write(name, 0, std::string((1 << 20) + 1, 'x'), &state)),
            "data");
}

TEST_F(ExecutionControlTest, AHeldInputHoldsUpNoOtherCall) {
  const std::string name = StartWithInput();
  factory_.With("box",
                [](FakeSupervisor& supervisor) { supervisor.HoldInput(); });
  corral::v1::InputState state;
  grpc::Status status;
  std::thread writer([&] { status = Write(name, 0, "x", &state); });
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "died");
  });
  writer.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(state.closed());
}

TEST_F(ExecutionControlTest, SendsASupervisorOneInputOfACommandAtATime) {
  const std::string name = StartWithInput();
  factory_.With("box",
                [](FakeSupervisor& supervisor) { supervisor.HoldInput(); });
  corral::v1::InputState held;
  grpc::Status status;
  std::thread writer([&] { status = Write(name, 0, "x", &held); });
  const auto held_inputs = [this] {
    size_t count = 0;
    factory_.With("box", [&count](FakeSupervisor& supervisor) {
      count = supervisor.held_inputs();
    });
    return count;
  };
  while (held_inputs() == 0) {
    std::this_thread::yield();
  }
  // The data of a cancelled call is never sent.
  for (int i = 0; i < 3; ++i) {
    corral::v1::WriteInputRequest request;
    request.set_name(name);
    request.set_data("x");
    grpc::ClientContext context;
    grpc::Status cancelled;
    std::thread second([&] {
      corral::v1::InputState state;
      cancelled = execution_stub_->WriteInput(&context, request, &state);
    });
    AwaitWaitingInput(name);
    context.TryCancel();
    second.join();
    EXPECT_EQ(cancelled.error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_EQ(held_inputs(), 1);
  }
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "died");
  });
  writer.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ExecutionControlTest, SendsASignal) {
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
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.last_signal().kill_after_ns(), -1);
  });
  EXPECT_EQ(Wait(name).exit().cause(), corral::v1::ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(Reason(Signal(request)), "EXECUTION_ENDED");
}

TEST_F(ExecutionControlTest, ResizesOnlyATerminal) {
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

TEST_F(ExecutionControlTest, SendsEverySignalWithItsScopeAndDelay) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  corral::v1::SignalExecutionRequest request;
  request.set_name(name);
  request.set_scope(corral::v1::SignalExecutionRequest::LEADER);
  for (const int64_t seconds : {0, 3600}) {
    for (const int signal : {1, 64}) {
      request.set_signal(signal);
      request.mutable_kill_after()->set_seconds(seconds);
      ASSERT_TRUE(Signal(request).ok());
      factory_.With("box", [&](FakeSupervisor& supervisor) {
        const wire::Signal& last = supervisor.last_signal();
        EXPECT_EQ(last.signal(), signal);
        EXPECT_EQ(last.scope(), wire::Signal::LEADER);
        EXPECT_EQ(last.kill_after_ns(), seconds * 1'000'000'000);
      });
    }
  }
  for (const int signal : {-1, 0}) {
    request.set_signal(signal);
    EXPECT_EQ(Field(Signal(request)), "signal");
  }
  request.set_signal(SIGTERM);
  request.set_scope(static_cast<corral::v1::SignalExecutionRequest::Scope>(9));
  EXPECT_EQ(Field(Signal(request)), "scope");
}

TEST_F(ExecutionControlTest,
       DistinguishesACommandThatIsGoneFromOneThatIsUnknown) {
  const std::string name = StartWithInput();
  corral::v1::SignalExecutionRequest request;
  request.set_name(name);
  request.set_signal(SIGTERM);
  factory_.With("box", [&](FakeSupervisor& supervisor) {
    EXPECT_TRUE(
        supervisor.DeleteExecution(name.substr(name.rfind('/') + 1)).ok());
  });
  EXPECT_EQ(Reason(Signal(request)), "EXECUTION_NOT_FOUND");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "died");
  });
  EXPECT_EQ(Reason(Signal(request)), "EXECUTION_ENDED");
  corral::v1::InputState state;
  EXPECT_TRUE(Write(name, 0, "x", &state).ok());
  EXPECT_TRUE(state.closed());
}

TEST_F(ExecutionControlTest, RemembersTheSizeOfAResizedTerminal) {
  corral::v1::Command command = Command();
  command.mutable_terminal()->set_rows(24);
  command.mutable_terminal()->set_columns(80);
  const std::string name = StartExecution(CreateSandbox("box"), command);
  const auto execution = sandboxes_->registry().Find("box")->FindExecution(
      name.substr(name.rfind('/') + 1));
  ASSERT_TRUE(Resize(name, 50, 100).ok());
  EXPECT_EQ(execution->terminal_size().rows(), 50);
  EXPECT_EQ(execution->terminal_size().columns(), 100);
  factory_.Exit(name, 0);
  EXPECT_FALSE(Resize(name, 60, 100).ok());
  EXPECT_EQ(execution->terminal_size().rows(), 50);
}

TEST_F(ExecutionControlTest, AppendsInputThatNamesNoOffset) {
  const std::string name = StartWithInput();
  corral::v1::WriteInputRequest request;
  request.set_name(name);
  request.set_data("text");
  corral::v1::InputState state;
  const auto write = [&] {
    EXPECT_TRUE(
        Call(execution_stub_.get(), &ExecutionStub::WriteInput, request, &state)
            .ok());
    wire::WriteInput input;
    factory_.With("box", [&](FakeSupervisor& supervisor) {
      input = supervisor.last_input();
    });
    return input;
  };
  EXPECT_TRUE(write().append());
  EXPECT_EQ(write().data(), "text");
  request.set_offset(0);
  EXPECT_FALSE(write().append());
  EXPECT_FALSE(write().eof());
}

TEST_F(ExecutionControlTest, RetriesInputThatTheSupervisorHasNoRoomFor) {
  const std::string name = StartWithInput();
  const auto refuse = [this](const absl::Status& error) {
    factory_.With("box", [&](FakeSupervisor& supervisor) {
      supervisor.RefuseInput(error);
    });
  };
  refuse(sandbox::MakeFailure(wire::Reply::SHORTAGE, "full"));
  corral::v1::InputState state;
  grpc::Status status;
  std::thread writer([&] { status = Write(name, 0, "x", &state); });
  timers_.AwaitTimers(1);
  refuse(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  writer.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(state.accepted_offset(), 1);
  refuse(sandbox::MakeFailure(wire::Reply::NO_SUCH_EXECUTION, "gone"));
  EXPECT_EQ(Reason(Write(name, 1, "x", &state)), "EXECUTION_NOT_FOUND");
  refuse(sandbox::MakeFailure(wire::Reply::FAULT, "broken"));
  EXPECT_EQ(Reason(Write(name, 1, "x", &state)), "SERVER_FAULT");
}

TEST_F(ExecutionControlTest, RefusesInputOfACommandForWhichTooMuchWaits) {
  const std::string name = StartWithInput();
  factory_.With("box",
                [](FakeSupervisor& supervisor) { supervisor.HoldInput(); });
  const auto execution = sandboxes_->registry().Find("box")->FindExecution(
      name.substr(name.rfind('/') + 1));
  const std::string megabyte(1 << 20, 'x');
  std::vector<std::thread> writers;
  // One is under way, and fifteen wait.
  for (size_t i = 0; i < 16; ++i) {
    writers.emplace_back([&] {
      corral::v1::InputState state;
      EXPECT_TRUE(Write(name, 0, megabyte, &state).ok());
    });
  }
  while (execution->input_queue().waiting() < 15) {
    std::this_thread::yield();
  }
  corral::v1::InputState state;
  const grpc::Status status = Write(name, 0, megabyte, &state);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "died");
  });
  for (std::thread& writer : writers) {
    writer.join();
  }
}

TEST_F(ExecutionControlTest, SendsNoInputThatIsCancelledWhileThereIsNoRoom) {
  const std::string name = StartWithInput();
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseInput(sandbox::MakeFailure(wire::Reply::SHORTAGE, "full"));
  });
  corral::v1::WriteInputRequest request;
  request.set_name(name);
  request.set_data("x");
  grpc::ClientContext context;
  std::thread writer([&] {
    corral::v1::InputState state;
    EXPECT_EQ(
        execution_stub_->WriteInput(&context, request, &state).error_code(),
        grpc::StatusCode::CANCELLED);
  });
  timers_.AwaitTimers(1);
  context.TryCancel();
  writer.join();
  // The server notices it a moment later. Until then it tries again.
  const auto execution = sandboxes_->registry().Find("box")->FindExecution(
      name.substr(name.rfind('/') + 1));
  while (execution->input_queue().bytes() > 0) {
    timers_.Advance(absl::Seconds(1));
    std::this_thread::yield();
  }
}

TEST_F(ExecutionControlTest, SignalsTheForegroundGroupOfATerminal) {
  corral::v1::Command command = Command();
  command.mutable_terminal()->set_rows(24);
  command.mutable_terminal()->set_columns(80);
  corral::v1::SignalExecutionRequest request;
  request.set_name(StartExecution(CreateSandbox("box"), command));
  request.set_signal(SIGINT);
  request.set_scope(corral::v1::SignalExecutionRequest::FOREGROUND_GROUP);
  ASSERT_TRUE(Signal(request).ok());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.last_signal().scope(), wire::Signal::FOREGROUND_GROUP);
  });
}

}  // namespace
}  // namespace server

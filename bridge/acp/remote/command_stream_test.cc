#include "bridge/acp/remote/command_stream.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "bridge/client/connection_fixture.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using corral::v1::OutputEvent;

class CommandStreamTest : public ::testing::Test {
 protected:
  static void Script(tests::FakeExecution& command) {
    const std::string& program = command.command().argv(0);
    if (program == "hang") {
      command.Print("waits");
      command.Hang();
    } else if (program == "flood") {
      for (int i = 0; i < 1000; ++i) {
        command.Print(std::string(10'000, 'x'));
      }
    } else {
      command.Print("hello");
      command.SetExit(3);
    }
  }

  // Starts a program, and waits for the answer.
  std::unique_ptr<CommandStream> Run(const std::string& program,
                                     absl::Duration limit = absl::Hours(1)) {
    corral::v1::RunExecutionRequest request;
    request.set_parent(sandbox_);
    request.mutable_command()->add_argv(program);
    answer_.reset();
    auto stream = std::make_unique<CommandStream>(
        &loop_, *connection_, request, limit, [this](grpc::Status status) {
          loop_.Post([this, status] { answer_ = status; });
        });
    RunUntil([this] { return answer_.has_value(); });
    return stream;
  }

  std::unique_ptr<CommandStream> Follow(const std::string& program) {
    auto stream = Run(program);
    EXPECT_TRUE(answer_->ok()) << answer_->error_message();
    Follow(*stream);
    return stream;
  }

  void Follow(CommandStream& stream) {
    stream.Follow(
        [this](const OutputEvent& event) {
          events_.push_back(event);
          on_event_();
        },
        [this] {
          ++broken_;
          on_event_();
        });
  }

  bool HasEnded() const {
    return !events_.empty() && events_.back().has_ended();
  }
  void RunUntil(const std::function<bool()>& condition) {
    std::vector<pollfd> none;
    while (!condition()) {
      loop_.RunOnce(none);
    }
  }

  tests::FakeServer server_{Script};
  std::unique_ptr<client::Connection> connection_ =
      client::Connect(server_, Quick());
  const std::string sandbox_ = client::MakeSandbox(*connection_);
  PollLoop loop_;
  std::optional<grpc::Status> answer_;
  std::vector<OutputEvent> events_;
  int broken_ = 0;
  std::function<void()> on_event_ = [] {};

 private:
  static client::Timing Quick() {
    client::Timing timing;
    timing.stream_silence = absl::Milliseconds(300);
    return timing;
  }
};

TEST_F(CommandStreamTest, DeliversTheOutputAndTheEnd) {
  const auto stream = Follow("hello");
  EXPECT_EQ(stream->started().name(), sandbox_ + "/executions/e1");
  RunUntil([this] { return HasEnded(); });
  std::string output;
  for (const OutputEvent& event : events_) {
    output += event.chunk().data();
  }
  EXPECT_EQ(output, "hello");
  EXPECT_EQ(events_.back().ended().exit().code(), 3);
  EXPECT_EQ(broken_, 0);
}

TEST_F(CommandStreamTest, ReportsTheErrorOfAStart) {
  server_.FailStartedCommands(grpc::StatusCode::PERMISSION_DENIED);
  Run("hello");
  EXPECT_EQ(answer_->error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(CommandStreamTest, ReportsAServerThatDoesNotAnswer) {
  server_.HoldRuns();
  Run("hello", absl::Milliseconds(10));
  EXPECT_EQ(answer_->error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(CommandStreamTest, ReportsThatTheConnectionBroke) {
  const auto stream = Follow("hang");
  RunUntil([this] { return !events_.empty(); });
  server_.Stop();
  RunUntil([this] { return broken_ == 1; });
  EXPECT_EQ(events_.size(), 1);
}

TEST_F(CommandStreamTest, ReportsAStreamThatIsSilentAsBroken) {
  const auto stream = Follow("hang");
  RunUntil([this] { return broken_ == 1; });
  EXPECT_EQ(events_.size(), 1);
}

TEST_F(CommandStreamTest, ReadsNoEventBeforeTheLastOneWasHandled) {
  const auto stream = Follow("flood");
  size_t most = 0;
  std::vector<pollfd> none;
  while (!HasEnded()) {
    const size_t before = events_.size();
    loop_.RunOnce(none);
    most = std::max(most, events_.size() - before);
  }
  EXPECT_GT(events_.size(), 20);
  EXPECT_EQ(most, 1);
}

TEST_F(CommandStreamTest, RunsNothingAfterItWasDestroyed) {
  auto first = Run("hang");
  auto second = Run("hang");
  Follow(*first);
  Follow(*second);
  on_event_ = [&] {
    first.reset();
    second.reset();
  };
  while (loop_.posted() < 2) {
    std::this_thread::yield();
  }
  RunUntil([this] { return loop_.posted() == 0; });
  EXPECT_EQ(events_.size(), 1);
  EXPECT_EQ(broken_, 0);
}

TEST_F(CommandStreamTest, MayBeDestroyedWhenItIsBroken) {
  auto stream = Follow("hang");
  RunUntil([this] { return !events_.empty(); });
  on_event_ = [&] { stream.reset(); };
  server_.Stop();
  RunUntil([this] { return broken_ == 1; });
  EXPECT_EQ(stream, nullptr);
}

TEST_F(CommandStreamTest, MayBeDestroyedBeforeItIsFollowed) {
  Run("hang").reset();
  bool later = false;
  loop_.Post([&later] { later = true; });
  RunUntil([&later] { return later; });
  EXPECT_TRUE(events_.empty());
}

TEST_F(CommandStreamTest, LeavesTheCommandRunningWhenItIsDestroyed) {
  Follow("hang").reset();
  EXPECT_EQ(
      server_.FindExecution(sandbox_ + "/executions/e1")->Snapshot().state(),
      corral::v1::Execution::RUNNING);
}

}  // namespace
}  // namespace bridge

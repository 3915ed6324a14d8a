#include "bridge/acp/remote/output_follower.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "bridge/client/connection_fixture.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using corral::v1::OutputEvent;

class OutputFollowerTest : public ::testing::Test {
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

  std::unique_ptr<OutputFollower> Follow(const std::string& name,
                                         uint64_t offset = 0) {
    return std::make_unique<OutputFollower>(
        &loop_, *connection_, name, offset,
        [this](const OutputEvent& event) {
          events_.push_back(event);
          on_event_();
        },
        [this](const absl::Status& status) { lost_.push_back(status); });
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
  std::unique_ptr<client::Connection> connection_ = client::Connect(server_);
  PollLoop loop_;
  std::vector<OutputEvent> events_;
  std::vector<absl::Status> lost_;
  std::function<void()> on_event_ = [] {};
};

TEST_F(OutputFollowerTest, DeliversTheOutputFromAnOffsetToItsEnd) {
  const std::string name = client::Start(*connection_, "hello");
  server_.FindExecution(name)->WaitForOutput(corral::v1::STDOUT, 5);
  const auto follower = Follow(name, 2);
  RunUntil([this] { return HasEnded(); });
  EXPECT_TRUE(events_.front().has_chunk());
  std::string output;
  for (const OutputEvent& event : events_) {
    output += event.chunk().data();
  }
  EXPECT_EQ(output, "llo");
  EXPECT_EQ(events_.back().ended().exit().code(), 3);
  EXPECT_TRUE(lost_.empty());
}

TEST_F(OutputFollowerTest, ReportsAnExecutionThatTheServerDoesNotKnow) {
  const auto follower =
      Follow(client::MakeSandbox(*connection_) + "/executions/none");
  RunUntil([this] { return !lost_.empty(); });
  EXPECT_EQ(lost_.front().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(events_.empty());
}

TEST_F(OutputFollowerTest, ReadsNoEventBeforeTheLastOneWasHandled) {
  const auto follower = Follow(client::Start(*connection_, "flood"));
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

TEST_F(OutputFollowerTest, RunsNothingAfterItWasDestroyed) {
  const std::string name = client::Start(*connection_, "hang");
  auto first = Follow(name);
  auto second = Follow(name);
  on_event_ = [&] {
    first.reset();
    second.reset();
  };
  while (loop_.posted() < 2) {
    std::this_thread::yield();
  }
  RunUntil([this] { return loop_.posted() == 0; });
  EXPECT_EQ(events_.size(), 1);
  EXPECT_TRUE(lost_.empty());
}

TEST_F(OutputFollowerTest, ReportsNoLossWhenItIsDestroyed) {
  auto follower = Follow(client::Start(*connection_, "hang"));
  RunUntil([this] { return !events_.empty(); });
  follower.reset();
  bool later = false;
  loop_.Post([&later] { later = true; });
  RunUntil([&later] { return later; });
  EXPECT_EQ(events_.size(), 1);
  EXPECT_TRUE(lost_.empty());
}

}  // namespace
}  // namespace bridge

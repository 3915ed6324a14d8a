#include "sandbox/supervisor/input_channel.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

class InputChannelTest : public ::testing::Test {
 protected:
  InputChannelTest() {
    ::signal(SIGPIPE, SIG_IGN);
    OpenSink(/*terminal=*/false);
  }

  // A pipe stands for the terminal.
  void OpenSink(bool terminal) {
    int fds[2];
    ASSERT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    command_.Reset(fds[0]);
    sink_ = fds[1];
    channel_ =
        std::make_unique<InputChannel>(loop_.get(), UniqueFd(fds[1]), terminal);
  }

  void Write(uint64_t offset, const std::string& data, bool eof = false) {
    answer_.reset();
    channel_->Write(offset, data, eof,
                    [this](absl::Status status, const wire::InputState& state) {
                      answer_ = std::move(status);
                      state_ = state;
                    });
  }
  // Returns what the command reads; "EOF" at the end.
  std::string Read() {
    std::string data(1 << 20, '\0');
    const ssize_t got = ::read(command_.get(), data.data(), data.size());
    if (got == 0) {
      return "EOF";
    }
    data.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return data;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  UniqueFd command_;
  // Owned by channel_.
  int sink_ = -1;
  std::unique_ptr<InputChannel> channel_;
  std::optional<absl::Status> answer_;
  wire::InputState state_;
};

TEST_F(InputChannelTest, PassesEachByteOnce) {
  Write(0, "hello");
  EXPECT_THAT(*answer_, IsOk());
  Write(3, "lo world");
  Write(0, "hello");
  EXPECT_EQ(state_.accepted_offset(), 11u);
  EXPECT_EQ(Read(), "hello world");
}

TEST_F(InputChannelTest, RefusesAGap) {
  Write(1, "x");
  EXPECT_THAT(*answer_,
              FailsWith(wire::Reply::OFFSET_GAP, HasSubstr("gap after 0")));
  EXPECT_EQ(Read(), "");
}

TEST_F(InputChannelTest, ClosesAfterTheLastByte) {
  Write(0, "bye", true);
  EXPECT_TRUE(state_.closed());
  EXPECT_EQ(Read(), "bye");
  EXPECT_EQ(Read(), "EOF");
  Write(3, "more");
  EXPECT_THAT(*answer_, IsOk());
  EXPECT_TRUE(state_.closed());
}

TEST_F(InputChannelTest, KeepsATerminalOpenAtTheEndOfTheInput) {
  OpenSink(/*terminal=*/true);
  Write(0, "bye", true);
  EXPECT_THAT(*answer_, IsOk());
  EXPECT_FALSE(state_.closed());
  EXPECT_EQ(Read(), "bye");
  Write(3, "more");
  EXPECT_EQ(state_.accepted_offset(), 7u);
  EXPECT_EQ(Read(), "more");
}

TEST_F(InputChannelTest, IgnoresDataBehindTheEndOfTheInput) {
  const std::string much(size_t{1} << 20, 'x');
  Write(0, much, true);
  EXPECT_FALSE(answer_.has_value());
  Write(much.size(), "more");
  EXPECT_EQ(channel_->next_offset(), much.size());
}

TEST_F(InputChannelTest, AnswersEachCallAsSoonAsItsOwnDataIsTaken) {
  bool first = false;
  bool second = false;
  const auto set = [](bool* answered) {
    return [answered](const absl::Status&, const wire::InputState&) {
      *answered = true;
    };
  };
  // A pipe takes 64 KiB.
  const std::string data(70 << 10, 'x');
  channel_->Write(0, data, false, set(&first));
  channel_->Write(data.size(), std::string(1 << 20, 'y'), false, set(&second));
  EXPECT_FALSE(first);
  EXPECT_FALSE(Read().empty());
  loop_->WhenIdle([this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
}

TEST_F(InputChannelTest, WaitsForACommandThatReadsSlowly) {
  const std::string much(size_t{1} << 20, 'x');
  Write(0, much);
  EXPECT_FALSE(answer_.has_value());
  size_t read = 0;
  // The loop ends when the answer comes.
  channel_->Write(
      much.size(), "", false,
      [this](const absl::Status&, const wire::InputState&) { loop_->Stop(); });
  std::function<void()> reader = [&] {
    read += Read().size();
    loop_->After(absl::ZeroDuration(), [&] { reader(); });
  };
  reader();
  loop_->Run();
  ASSERT_TRUE(answer_.has_value());
  EXPECT_THAT(*answer_, IsOk());
  EXPECT_EQ(state_.accepted_offset(), much.size());
  EXPECT_EQ(read + Read().size(), much.size());
  // There is nothing more to wait for.
  EXPECT_DEATH(loop_->SetEvents(sink_, 0), "is not watched");
}

TEST_F(InputChannelTest, ReportsAClosedInputAsAState) {
  command_.Reset();
  Write(0, "x");
  EXPECT_THAT(*answer_, IsOk());
  EXPECT_TRUE(state_.closed());
  EXPECT_EQ(state_.accepted_offset(), 0u);
}

TEST_F(InputChannelTest, IgnoresDataBehindWhatAClosedInputDidNotTake) {
  command_.Reset();
  Write(0, "x");
  Write(1, "y");
  EXPECT_THAT(*answer_, IsOk());
  EXPECT_TRUE(state_.closed());
  EXPECT_EQ(state_.accepted_offset(), 0u);
}

TEST_F(InputChannelTest, AppendsBehindTheDataThatWaits) {
  EXPECT_EQ(channel_->next_offset(), 0u);
  const std::string much(size_t{1} << 20, 'x');
  Write(0, much);
  EXPECT_FALSE(answer_.has_value());
  EXPECT_EQ(channel_->next_offset(), much.size());
}

TEST_F(InputChannelTest, RefusesMoreThanItHoldsForACommandThatDoesNotRead) {
  const std::string much(size_t{1} << 20, 'x');
  while (channel_->next_offset() < InputChannel::kMaxPending) {
    Write(channel_->next_offset(), much);
    EXPECT_FALSE(answer_.has_value());
  }
  const uint64_t held = channel_->next_offset();
  Write(held, much);
  EXPECT_THAT(*answer_,
              FailsWith(wire::Reply::SHORTAGE, HasSubstr("waits already")));
  EXPECT_EQ(channel_->next_offset(), held);
  // Nor what holds no data.
  for (size_t calls = 4; calls < InputChannel::kMaxWaiters; ++calls) {
    Write(0, much);
    EXPECT_FALSE(answer_.has_value());
  }
  Write(0, much);
  EXPECT_THAT(*answer_,
              FailsWith(wire::Reply::SHORTAGE, HasSubstr("waits already")));
}

TEST_F(InputChannelTest, AnswersWaitingCallsWhenItIsClosed) {
  Write(0, std::string(size_t{1} << 20, 'x'));
  EXPECT_FALSE(answer_.has_value());
  channel_->Close();
  ASSERT_TRUE(answer_.has_value());
  EXPECT_TRUE(state_.closed());
  EXPECT_EQ(channel_->next_offset(), state_.accepted_offset());
  EXPECT_DEATH(loop_->SetEvents(sink_, 0), "is not watched");
}

TEST_F(InputChannelTest, HoldsExactlyAsMuchAsItsBound) {
  Write(0, std::string(size_t{1} << 20, 'x'));
  const uint64_t taken = channel_->state().accepted_offset();
  const uint64_t bound = taken + InputChannel::kMaxPending;
  const uint64_t next = channel_->next_offset();
  Write(next, std::string(bound - next + 1, 'x'));
  EXPECT_THAT(*answer_,
              FailsWith(wire::Reply::SHORTAGE, HasSubstr("waits already")));
  Write(next, std::string(bound - next, 'x'));
  EXPECT_FALSE(answer_.has_value());
  EXPECT_EQ(channel_->next_offset(), bound);
}

TEST_F(InputChannelTest, TakesARepetitionOfDataThatWaitsOnce) {
  const std::string much(size_t{1} << 20, 'x');
  Write(0, much);
  Write(0, much + "y");
  EXPECT_EQ(channel_->next_offset(), much.size() + 1);
  EXPECT_FALSE(answer_.has_value());
}

TEST_F(InputChannelTest, LeavesItsLoopNothingWhenItIsDestroyed) {
  Write(0, std::string(size_t{1} << 20, 'x'));
  channel_.reset();
  // A pipe with the same number.
  OpenSink(/*terminal=*/false);
  Write(0, std::string(size_t{1} << 20, 'y'));
  EXPECT_FALSE(Read().empty());
  loop_->WhenIdle([this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_GT(channel_->state().accepted_offset(), uint64_t{64} << 10);
}

}  // namespace
}  // namespace sandbox

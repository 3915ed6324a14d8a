// The start of a command: what is made for it, and what happens before it is
// known whether it runs.

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/command_fixture.h"
#include "sandbox/supervisor/supervised_command.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::tests::FailsWith;

class SupervisedCommandStartTest : public CommandFixture {
 protected:
  // Starts the execution `id` anew, as far as the spawner's answer.
  void BeginStartOf(const std::string& id) {
    start_.set_id(id);
    states_.clear();
    BeginStart();
  }
  // Prints as much as a log keeps, and one byte.
  void PrintTooMuch() {
    Print(std::string(OutputLogWriter::kMinRetained + 1, 'x'));
    RunLoop();
  }
};

TEST_F(SupervisedCommandStartTest, HandsTheLimitOfItsFilesOn) {
  host_.file_bytes = 8192;
  Start();
  EXPECT_EQ(played_.request().file_bytes, 8192u);
  Exit(0);
}

TEST_F(SupervisedCommandStartTest, EndsLikeOneThatRanIfItsDeletionKilledIt) {
  BeginStart();
  command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
  played_.Fail(SpawnStage::kExec, EINTR, /*with_process=*/true);
  RunLoop();
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(states_[0].state(), wire::ExecutionRecord::RUNNING);
  EXPECT_EQ(end().state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(end().exit().wait_status(), 1 << 8);
  EXPECT_EQ(started_, 1);
}

TEST_F(SupervisedCommandStartTest, FailsForAnyOtherReason) {
  for (const bool deleted : {false, true}) {
    BeginStartOf(deleted ? "e2" : "e1");
    if (deleted) {
      command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
    }
    played_.Fail(SpawnStage::kExec, deleted ? ENOENT : EINTR,
                 /*with_process=*/true);
    RunLoop();
    ASSERT_EQ(states_.size(), 1u);
    EXPECT_EQ(states_[0].state(), wire::ExecutionRecord::FAILED_TO_START);
    EXPECT_EQ(states_[0].failure().errno_value(), deleted ? ENOENT : EINTR);
  }
}

TEST_F(SupervisedCommandStartTest, DoesNotWaitForAProcessThatRunsOn) {
  BeginStart();
  played_.FailFalsely();
  RunLoop();
  ASSERT_EQ(states_.size(), 1u);
  EXPECT_EQ(states_[0].state(), wire::ExecutionRecord::FAILED_TO_START);
  EXPECT_EQ(::kill(played_.child(), 0), 0);
}

TEST_F(SupervisedCommandStartTest, TakesNoSignalOnceItHasFailed) {
  BeginStart();
  played_.Fail(SpawnStage::kExec, ENOENT, /*with_process=*/false);
  RunLoop();
  EXPECT_THAT(command_->Signal(SignalOf(SIGTERM, wire::Signal::TREE)),
              FailsWith(wire::Reply::EXECUTION_ENDED, HasSubstr("no process")));
}

TEST_F(SupervisedCommandStartTest, RefusesASignalThatNeedsATerminalAtOnce) {
  BeginStart();
  EXPECT_THAT(
      command_->Signal(SignalOf(SIGINT, wire::Signal::FOREGROUND_GROUP)),
      FailsWith(wire::Reply::NOT_A_TERMINAL, HasSubstr("terminal")));
}

TEST_F(SupervisedCommandStartTest, KillsOnceForOutputThatCameTooEarly) {
  spec().set_overflow(wire::CommandSpec::KILL);
  spec().set_retain_bytes(OutputLogWriter::kMinRetained);
  BeginStart();
  PrintTooMuch();
  EXPECT_EQ(group_.calls, "") << "the spawner still works on it";
  played_.Succeed();
  RunLoop();
  EXPECT_EQ(group_.calls, "kill ");
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUTPUT_LIMIT);
}

TEST_F(SupervisedCommandStartTest, NamesNoProcessThatWasThereBeforeItRan) {
  BeginStart();
  group_.pids = {::getpid()};
  command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
  group_.pids.clear();
  played_.Succeed();
  RunLoop();
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().killed_count(), 0u);
}

TEST_F(SupervisedCommandStartTest, ReportsItsInputAndItsRequestIfItHasThem) {
  for (const bool present : {false, true}) {
    BeginStartOf(present ? "e2" : "e1");
    played_.Succeed();
    RunLoop();
    ASSERT_EQ(states_.size(), 1u);
    EXPECT_EQ(states_[0].has_input(), present);
    EXPECT_EQ(states_[0].has_request(), present);
    spec().set_open_stdin(true);
    start_.mutable_request()->set_request_id("r1");
  }
}

TEST_F(SupervisedCommandStartTest, KeepsTheHeadAndTheTailOfItsOutput) {
  spec().set_overflow(wire::CommandSpec::HEAD_AND_TAIL);
  spec().set_retain_bytes(OutputLogWriter::kMinRetained);
  Start();
  PrintTooMuch();
  PrintTooMuch();
  PrintTooMuch();
  const wire::StreamState state = command_->report().streams(0);
  EXPECT_EQ(state.begin(), 0u);
  EXPECT_GT(state.gap_begin(), 0u);
  EXPECT_GT(state.gap_end(), state.gap_begin());
}

TEST_F(SupervisedCommandStartTest, DropsTheOldestOutputByDefault) {
  for (const bool told : {false, true}) {
    start_.set_id(told ? "e2" : "e1");
    states_.clear();
    spec().set_retain_bytes(OutputLogWriter::kMinRetained);
    Start();
    PrintTooMuch();
    PrintTooMuch();
    EXPECT_GT(command_->report().streams(0).begin(), 0u);
    EXPECT_EQ(command_->report().streams(0).gap_end(), 0u);
    spec().set_overflow(wire::CommandSpec::DROP_OLDEST);
  }
}

TEST_F(SupervisedCommandStartTest, HasOneLogForBothOutputsOnRequest) {
  spec().set_merge_stderr(true);
  Start();
  ASSERT_EQ(::write(played_.error().get(), "error", 5), 5);
  RunLoop();
  ASSERT_EQ(command_->report().streams_size(), 1);
  EXPECT_EQ(command_->report().streams(0).end(), 5u);
}

TEST_F(SupervisedCommandStartTest, LeavesItsLoopNothingWhenItIsDestroyed) {
  spec().set_open_stdin(true);
  Start();
  command_.reset();
  // They get the numbers of its descriptors, each of which may be watched once.
  std::vector<UniqueFd> events;
  for (int i = 0; i < 64; ++i) {
    events.emplace_back(::eventfd(0, EFD_CLOEXEC));
    loop_->Watch(events.back().get(), EPOLLIN, [](uint32_t) {});
  }
  for (const UniqueFd& event : events) {
    loop_->Unwatch(event.get());
  }
}

// A start whose report may come later.
class DelayedReportTest : public CommandFixture {
 protected:
  static constexpr absl::Duration kDelay = absl::Milliseconds(5);

  void SetUp() override {
    start_.set_report_delay_ns(absl::ToInt64Nanoseconds(kDelay));
    BeginStart();
    played_.Succeed();
    RunLoop();
    ASSERT_THAT(states_, IsEmpty());
  }
};

TEST_F(DelayedReportTest, ComesWithTheEndOfAShortCommand) {
  Exit(3);
  ASSERT_THAT(states_, SizeIs(1));
  EXPECT_EQ(states_[0].state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(states_[0].exit().wait_status(), 3 << 8);
  EXPECT_NE(states_[0].start_time_ns(), 0);
  timers_.Advance(kDelay);
  EXPECT_THAT(states_, SizeIs(1));
}

TEST_F(DelayedReportTest, ComesWhenTheDelayIsOver) {
  timers_.Advance(kDelay - absl::Nanoseconds(1));
  EXPECT_THAT(states_, IsEmpty());
  timers_.Advance(absl::Nanoseconds(1));
  ASSERT_THAT(states_, SizeIs(1));
  EXPECT_EQ(states_[0].state(), wire::ExecutionRecord::RUNNING);
  Exit(0);
  EXPECT_EQ(end().state(), wire::ExecutionRecord::EXITED);
}

TEST_F(DelayedReportTest, ComesBeforeTheFirstOutputIsReported) {
  Print("text");
  RunLoop();
  timers_.Advance(absl::ZeroDuration());
  ASSERT_THAT(states_, SizeIs(1));
  EXPECT_EQ(states_[0].state(), wire::ExecutionRecord::RUNNING);
  Exit(0);
  EXPECT_EQ(end().state(), wire::ExecutionRecord::EXITED);
}

TEST_F(DelayedReportTest, IsInTheReportForAnotherServer) {
  EXPECT_EQ(command_->report().state(), wire::ExecutionRecord::RUNNING);
  Exit(0);
}

}  // namespace
}  // namespace sandbox

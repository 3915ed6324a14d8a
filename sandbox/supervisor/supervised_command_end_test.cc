// Events that shorten or delay the end of a command: timeouts, signals,
// deletions, descendants that hold its output, and a disk that refuses.

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/command_fixture.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

constexpr int64_t kSecond = 1'000'000'000;

class SupervisedCommandEndTest : public CommandFixture {
 protected:
  // The process ends, and a descendant holds its output.
  void ExitAlone(int code) {
    played_.Exit(code);
    RunLoop();
  }
  // Runs `function` while the disk refuses all records.
  void WithoutRecords(const std::function<void()>& function) {
    ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC, function));
  }
  // It has exited, and its end waits for the disk.
  void ExitUnrecorded() {
    Start();
    WithoutRecords([this] { Exit(0); });
    ASSERT_EQ(states_.size(), 1u);
    ASSERT_THAT(storage_.failure(), HasSubstr("end of e1"));
  }
};

TEST_F(SupervisedCommandEndTest, WaitsForADescendantUntilTheDrainIsOver) {
  Start();
  ExitAlone(0);
  timers_.Advance(absl::Seconds(2) - absl::Nanoseconds(1));
  EXPECT_EQ(states_.size(), 1u);
  Print("late");
  timers_.Advance(absl::Nanoseconds(1));
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_TRUE(end().exit().output_open());
  EXPECT_EQ(Output(), "late");
  // Later output changes the logs and not the end.
  Print("r");
  CloseOutput();
  RunLoop();
  EXPECT_EQ(Output(), "later");
  EXPECT_EQ(states_.size(), 2u);
}

TEST_F(SupervisedCommandEndTest, EndsWhenADescendantClosesTheOutput) {
  spec().set_drain_ns(5 * kSecond);
  Start();
  ExitAlone(0);
  timers_.Advance(absl::Seconds(3));
  played_.output().Reset();
  RunLoop();
  EXPECT_EQ(states_.size(), 1u);
  played_.error().Reset();
  RunLoop();
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_FALSE(end().exit().output_open());
}

TEST_F(SupervisedCommandEndTest, GetsSigtermAndThenSigkillWhenItsTimeIsUp) {
  spec().set_wall_timeout_ns(3 * kSecond);
  spec().set_kill_grace_ns(kSecond);
  Start();
  timers_.Advance(absl::Seconds(3));
  EXPECT_EQ(group_.calls, "signal 15 ");
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(group_.calls, "signal 15 kill ");
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::WALL_TIMEOUT);
}

TEST_F(SupervisedCommandEndTest, AnswersATimeoutWithAnExitOfItsOwn) {
  spec().set_wall_timeout_ns(kSecond);
  spec().set_kill_grace_ns(kSecond);
  Start();
  timers_.Advance(absl::Seconds(1));
  Exit(7);
  EXPECT_EQ(end().exit().wait_status(), 7 << 8);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::WALL_TIMEOUT);
  // Descendants are still killed.
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(group_.calls, "signal 15 kill remove ");
}

TEST_F(SupervisedCommandEndTest, HasNoTimeoutAfterItsExit) {
  spec().set_wall_timeout_ns(kSecond);
  Start();
  ExitAlone(0);
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(group_.calls, "");
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
}

TEST_F(SupervisedCommandEndTest, NamesTheCpuTimeout) {
  spec().set_cpu_timeout_ns(kSecond);
  Start();
  group_.cpu_time = absl::Seconds(1);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(group_.calls, "signal 15 kill ");
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::CPU_TIMEOUT);
}

TEST_F(SupervisedCommandEndTest, IsKilledSomeTimeAfterAClientsSignal) {
  Start();
  EXPECT_THAT(
      command_->Signal(SignalOf(SIGTERM, wire::Signal::TREE, 2 * kSecond)),
      IsOk());
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(group_.calls, "signal 15 ");
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(group_.calls, "signal 15 kill ");
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
}

TEST_F(SupervisedCommandEndTest, SignalsDescendantsAfterTheCommand) {
  Start();
  ExitAlone(0);
  const auto refused =
      FailsWith(wire::Reply::EXECUTION_ENDED, HasSubstr("no process"));
  EXPECT_THAT(command_->Signal(SignalOf(SIGKILL, wire::Signal::TREE)), refused);
  group_.pids = {1};
  EXPECT_THAT(command_->Signal(SignalOf(SIGHUP, wire::Signal::LEADER)),
              refused);
  EXPECT_THAT(command_->Signal(SignalOf(SIGHUP, wire::Signal::TREE)), IsOk());
  EXPECT_EQ(group_.calls, "signal 1 ");
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  // Once it has ended, its group goes with the last process.
  EXPECT_THAT(command_->Signal(SignalOf(SIGKILL, wire::Signal::TREE)), IsOk());
  EXPECT_EQ(group_.calls, "signal 1 kill remove ");
}

TEST_F(SupervisedCommandEndTest, IsKilledForOutputThatIsNotKept) {
  spec().set_overflow(wire::CommandSpec::KILL);
  spec().set_retain_bytes(OutputLogWriter::kMinRetained);
  Start();
  Print(std::string(OutputLogWriter::kMinRetained + 1, 'x'));
  RunLoop();
  EXPECT_EQ(group_.calls, "kill ");
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUTPUT_LIMIT);
  EXPECT_EQ(Output().size(), OutputLogWriter::kMinRetained);
}

TEST_F(SupervisedCommandEndTest, NamesLostOutputThatIsFoundAfterItsExit) {
  spec().set_overflow(wire::CommandSpec::KILL);
  spec().set_retain_bytes(OutputLogWriter::kMinRetained);
  Start();
  Print(std::string(OutputLogWriter::kMinRetained + 1, 'x'));
  Exit(0);
  EXPECT_EQ(end().exit().wait_status(), 0);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUTPUT_LIMIT);
}

TEST_F(SupervisedCommandEndTest, WaitsForRoomInAFullLogHoweverLong) {
  spec().set_overflow(wire::CommandSpec::BLOCK);
  spec().set_retain_bytes(OutputLogWriter::kMinRetained);
  Start();
  Print(std::string(OutputLogWriter::kMinRetained, 'x'));
  RunLoop();
  Print("own");
  Exit(0);
  timers_.Advance(absl::Hours(1));
  EXPECT_EQ(states_.size(), 1u);
  // A signal that cannot end the waiting is refused.
  EXPECT_THAT(command_->Signal(SignalOf(SIGKILL, wire::Signal::TREE)),
              FailsWith(wire::Reply::EXECUTION_ENDED, HasSubstr("no process")));
  command_->Acknowledge(wire::STDOUT, OutputLogWriter::kMinRetained);
  timers_.Advance(absl::Seconds(2));
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_FALSE(end().exit().output_open());
}

TEST_F(SupervisedCommandEndTest, DoesNotDrainTheOutputOfADeletedCommand) {
  for (const bool before_exit : {true, false}) {
    start_.set_id(before_exit ? "e1" : "e2");
    states_.clear();
    Start();
    if (before_exit) {
      command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
      ExitAlone(0);
    } else {
      ExitAlone(0);
      EXPECT_EQ(states_.size(), 1u);
      command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
    }
    ASSERT_EQ(states_.size(), 2u);
    // It exited by itself.
    EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
    EXPECT_FALSE(end().exit().output_open());
  }
}

TEST_F(SupervisedCommandEndTest, NamesTheProcessesThatWereKilledWithIt) {
  Start();
  group_.pids = {played_.child(), ::getpid()};
  command_->Condemn(wire::ExitRecord::SERVER_SHUTDOWN);
  command_->Kill();
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::SERVER_SHUTDOWN);
  ASSERT_EQ(end().exit().killed_size(), 1);
  EXPECT_EQ(end().exit().killed_count(), 1u);
}

TEST_F(SupervisedCommandEndTest, ReportsItsEndWhenTheDiskTakesIt) {
  ExitUnrecorded();
  EXPECT_FALSE(command_->ended());
  WithoutRecords([this] { timers_.Advance(absl::Milliseconds(200)); });
  EXPECT_EQ(states_.size(), 1u);
  EXPECT_FALSE(HasEndOnDisk());
  timers_.Advance(absl::Milliseconds(200));
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_TRUE(HasEndOnDisk());
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SupervisedCommandEndTest, ASigkillEndsTheWaitForTheDisk) {
  ExitUnrecorded();
  WithoutRecords([this] {
    // Any other signal leaves it waiting.
    EXPECT_FALSE(command_->Signal(SignalOf(SIGTERM, wire::Signal::TREE)).ok());
    EXPECT_THAT(command_->Signal(SignalOf(SIGKILL, wire::Signal::TREE)),
                IsOk());
  });
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  // It is still written, and not reported twice.
  timers_.Advance(absl::Milliseconds(200));
  EXPECT_TRUE(HasEndOnDisk());
  EXPECT_EQ(states_.size(), 2u);
}

TEST_F(SupervisedCommandEndTest, AKillAfterAGracePeriodEndsTheWaitForTheDisk) {
  ExitUnrecorded();
  WithoutRecords([this] {
    EXPECT_THAT(
        command_->Signal(SignalOf(SIGTERM, wire::Signal::TREE, kSecond)),
        IsOk());
    timers_.Advance(absl::Seconds(1));
  });
  EXPECT_EQ(states_.size(), 2u);
}

TEST_F(SupervisedCommandEndTest, AKillWithoutAGracePeriodEndsTheWaitToo) {
  ExitUnrecorded();
  WithoutRecords([this] {
    EXPECT_THAT(command_->Signal(SignalOf(SIGTERM, wire::Signal::TREE, 0)),
                IsOk());
    timers_.Advance(absl::ZeroDuration());
  });
  EXPECT_EQ(states_.size(), 2u);
}

TEST_F(SupervisedCommandEndTest, ATimeoutDoesNotEndTheWaitForTheDisk) {
  spec().set_wall_timeout_ns(kSecond);
  spec().set_kill_grace_ns(kSecond);
  Start();
  timers_.Advance(absl::Seconds(1));
  WithoutRecords([this] {
    Exit(0);
    timers_.Advance(absl::Seconds(1));
    EXPECT_EQ(group_.calls, "signal 15 kill ") << "the grace period is over";
    EXPECT_EQ(states_.size(), 1u);
  });
}

TEST_F(SupervisedCommandEndTest, RemovingTheGroupEndsTheGracePeriod) {
  Start();
  EXPECT_THAT(command_->Signal(SignalOf(SIGTERM, wire::Signal::TREE, kSecond)),
              IsOk());
  Exit(0);
  EXPECT_EQ(timers_.size(), 1u);
  EXPECT_TRUE(command_->ReleaseCgroup());
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(SupervisedCommandEndTest, OnlyADeletionEndsTheWaitForTheDisk) {
  ExitUnrecorded();
  WithoutRecords([this] {
    command_->Condemn(wire::ExitRecord::OUTPUT_LIMIT);
    EXPECT_EQ(states_.size(), 1u);
  });
}

TEST_F(SupervisedCommandEndTest, ADeletionEndsTheWaitForTheDisk) {
  ExitUnrecorded();
  WithoutRecords([this] {
    command_->Condemn(wire::ExitRecord::CLIENT_SIGNAL);
    EXPECT_EQ(states_.size(), 2u);
  });
  EXPECT_EQ(timers_.size(), 1u);
  EXPECT_TRUE(command_->RemoveFiles());
  EXPECT_EQ(timers_.size(), 0u) << "removed files are still written";
  command_.reset();
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SupervisedCommandEndTest, LearnsThatItsOutputClosedWhileTheDiskRefuses) {
  Start();
  ExitAlone(0);
  WithoutRecords([this] { timers_.Advance(absl::Seconds(2)); });
  EXPECT_EQ(states_.size(), 1u);
  CloseOutput();
  RunLoop();
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_FALSE(end().exit().output_open());
}

TEST_F(SupervisedCommandEndTest, NamesEachKilledProcessOnceInALaterRecord) {
  spec().set_wall_timeout_ns(kSecond);
  spec().set_kill_grace_ns(60 * kSecond);
  Start();
  group_.pids = {::getpid()};
  timers_.Advance(absl::Seconds(1));
  ExitAlone(0);
  WithoutRecords([this] { timers_.Advance(absl::Seconds(2)); });
  CloseOutput();
  RunLoop();
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(end().exit().killed_size(), 1);
}

TEST_F(SupervisedCommandEndTest, OutputThatTheDiskRefusesHoldsBackTheEnd) {
  Start();
  Print("text");
  CloseOutput();
  played_.Exit(0);
  ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, ENOSPC, [this] {
    RunLoop();
    timers_.Advance(absl::Seconds(10));
  }));
  EXPECT_EQ(states_.size(), 1u);
  timers_.Advance(absl::Seconds(1));
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_EQ(Output(), "text");
}

TEST_F(SupervisedCommandEndTest, ASigkillEndsTheWaitForOutputOnceItIsOverdue) {
  for (const bool overdue : {false, true}) {
    start_.set_id(overdue ? "e2" : "e1");
    states_.clear();
    Start();
    Print("text");
    CloseOutput();
    played_.Exit(0);
    ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, ENOSPC, [&] {
      RunLoop();
      timers_.Advance(absl::Seconds(overdue ? 2 : 1));
      EXPECT_THAT(command_->Signal(SignalOf(SIGKILL, wire::Signal::TREE)),
                  IsOk());
      EXPECT_EQ(states_.size(), overdue ? 2u : 1u);
      timers_.Advance(absl::Seconds(1));
    }));
    ASSERT_EQ(states_.size(), 2u);
    EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUTPUT_FAILED);
  }
}

}  // namespace
}  // namespace sandbox

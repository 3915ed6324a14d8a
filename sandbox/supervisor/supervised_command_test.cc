// A command from its request to its end, in the order of its life.
// supervised_command_end_test.cc has what shortens or delays its end.

#include "sandbox/supervisor/supervised_command.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/command_fixture.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::FailsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

class SupervisedCommandTest : public CommandFixture {
 protected:
  // Kills the command while another process traces it, and returns when that
  // one has let it go. Returns false if this host lets nobody trace.
  bool KillUnderATracer() {
    Start();
    int ready[2];
    int go[2];
    EXPECT_TRUE(::pipe(ready) == 0 && ::pipe(go) == 0);
    const pid_t tracer = ::fork();
    if (tracer == 0) {
      char byte =
          ::ptrace(PTRACE_SEIZE, played_.child(), 0, 0) == 0 ? 'y' : 'n';
      const bool told =
          ::write(ready[1], &byte, 1) == 1 && ::read(go[0], &byte, 1) == 1;
      ::_exit(told ? 0 : 1);
    }
    char seized = 'n';
    EXPECT_EQ(::read(ready[0], &seized, 1), 1);
    if (seized == 'y') {
      CloseOutput();
      ::kill(played_.child(), SIGKILL);
      // Readable from the death on, whoever traces.
      while (command_->state() == wire::ExecutionRecord::RUNNING &&
             timers_.size() == 0) {
        RunLoop();
      }
      EXPECT_TRUE(end().id().empty());
      timers_.Advance(absl::Milliseconds(50));
      EXPECT_TRUE(end().id().empty());
    }
    EXPECT_EQ(::write(go[1], "g", 1), 1);
    EXPECT_EQ(::waitpid(tracer, nullptr, 0), tracer);
    for (const int fd : {ready[0], ready[1], go[0], go[1]}) {
      ::close(fd);
    }
    return seized == 'y';
  }
};

TEST_F(SupervisedCommandTest, ReportsThatItRunsAndThenItsExit) {
  start_.mutable_request()->set_request_id("r1");
  Start();
  EXPECT_EQ(started_, 1);
  EXPECT_GT(states_[0].start_time_ns(), 0);
  Print("hello");
  RunLoop();
  EXPECT_EQ(output_.execution_id(), "e1");
  ASSERT_EQ(output_.streams_size(), 2);
  EXPECT_EQ(output_.streams(0).end(), 5u);
  Exit(3);
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(end().state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(end().exit().wait_status(), 3 << 8);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_FALSE(end().exit().output_open());
  EXPECT_GE(end().end_time_ns(), end().start_time_ns());
  EXPECT_EQ(end().request().request_id(), "r1");
  EXPECT_TRUE(command_->ended());
  EXPECT_EQ(Output(), "hello");
  ASSERT_EQ(end().streams_size(), 2);
  EXPECT_EQ(end().streams(0).end(), 5u);
  EXPECT_TRUE(end().streams(0).closed());
  wire::ExecutionRecord on_disk;
  ASSERT_THAT(ExecutionRecords::Open(directory_ + "/e1")->ReadEnd(&on_disk),
              IsOk());
  EXPECT_EQ(on_disk.SerializeAsString(), end().SerializeAsString());
}

TEST_F(SupervisedCommandTest, WritesItsStartTimeIntoItsLog) {
  Start();
  const auto log = OutputLogReader::Open(directory_ + "/e1", wire::STDOUT);
  ASSERT_THAT(log.status(), IsOk());
  EXPECT_EQ(log->state()->start_time_ns, states_[0].start_time_ns());
}

TEST_F(SupervisedCommandTest, EntersACgroupOfEitherVersion) {
  Start();
  EXPECT_EQ(played_.request().group, SpawnGroup::kDirectory);
  Exit(0);
  group_.version = CgroupVersion::kV1;
  start_.set_id("e2");
  states_.clear();
  Start();
  EXPECT_EQ(played_.request().group, SpawnGroup::kTasks);
}

TEST_F(SupervisedCommandTest, LetsItsOutputExpireOnceItHasEnded) {
  quota_.SetLimit(1 << 20);
  Start();
  Print("text");
  Exit(0);
  quota_.Charge(1 << 20);
  quota_.MakeRoom(nullptr);
  EXPECT_TRUE(command_->report().streams(0).expired());
}

TEST_F(SupervisedCommandTest, NamesTheProcessesThatTheKernelKillsWithInit) {
  Start();
  group_.pids = {played_.child(), ::getpid()};
  command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
  group_.pids.clear();
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().killed_size(), 1);
}

TEST_F(SupervisedCommandTest, WritesItsRequestBeforeItStarts) {
  start_.mutable_request()->set_request_id("r1");
  spec().set_original("as the caller sent it");
  ASSERT_THAT(Prepare(), IsOk());
  wire::ExecutionRecord start;
  ASSERT_THAT(ExecutionRecords::Open(directory_ + "/e1")->ReadStart(&start),
              IsOk());
  EXPECT_EQ(start.command().original(), "as the caller sent it");
  EXPECT_EQ(start.request().request_id(), "r1");
  EXPECT_EQ(start.state(), wire::ExecutionRecord::STARTING);
  EXPECT_EQ(sync_timers_.size(), 1u) << "the start will not be synced";
}

TEST_F(SupervisedCommandTest, LeavesNothingWhenItCannotBePrepared) {
  group_.cpu_time = absl::FailedPreconditionError("no cpuacct");
  spec().set_cpu_timeout_ns(1);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("cpuacct")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  EXPECT_THAT(states_, IsEmpty());
  // Without a limit of CPU time nobody needs to count it.
  spec().clear_cpu_timeout_ns();
  EXPECT_THAT(Prepare(), IsOk());
}

TEST_F(SupervisedCommandTest, ReportsAStorageFailureWhenItCannotBePrepared) {
  absl::Status prepared;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC,
                                      [&] { prepared = Prepare(); }));
  EXPECT_THAT(prepared, FailsWith(wire::Reply::STORAGE, HasSubstr("No space")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(SupervisedCommandTest, RefusesAnIdWhoseFilesExist) {
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_THAT(SupervisedCommand(&host_, start_).Prepare(),
              FailsWith(wire::Reply::EXECUTION_EXISTS, HasSubstr("/e1")));
}

TEST_F(SupervisedCommandTest, ReportsAFailureToStart) {
  for (const bool with_process : {false, true}) {
    start_.set_id(with_process ? "e2" : "e1");
    states_.clear();
    group_.calls.clear();
    spec().set_open_stdin(true);
    BeginStart();
    played_.Fail(SpawnStage::kExec, ENOENT, with_process);
    RunLoop();
    ASSERT_EQ(states_.size(), 1u);
    EXPECT_EQ(states_[0].state(), wire::ExecutionRecord::FAILED_TO_START);
    EXPECT_EQ(states_[0].failure().stage(), wire::StartFailure::EXEC);
    EXPECT_EQ(states_[0].failure().errno_value(), ENOENT);
    EXPECT_EQ(states_[0].start_time_ns(), 0);
    EXPECT_GT(states_[0].create_time_ns(), 0);
    EXPECT_GE(states_[0].end_time_ns(), states_[0].create_time_ns());
    EXPECT_TRUE(states_[0].input().closed());
    EXPECT_TRUE(states_[0].streams(0).closed());
    EXPECT_TRUE(command_->ended());
    EXPECT_EQ(group_.calls, "remove ");
    // Nothing is left to reap.
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  }
  EXPECT_EQ(started_, 2);
}

TEST_F(SupervisedCommandTest, ReportsAFailureToStartWhenTheDiskRefusesIt) {
  BeginStart();
  played_.Fail(SpawnStage::kExec, ENOENT, /*with_process=*/false);
  ASSERT_TRUE(
      tests::WithFailingCalls({SYS_pwrite64}, ENOSPC, [&] { RunLoop(); }));
  ASSERT_EQ(states_.size(), 1u);
  EXPECT_TRUE(command_->ended());
  EXPECT_THAT(storage_.failure(), HasSubstr("end of e1"));
  EXPECT_FALSE(HasEndOnDisk());
  timers_.Advance(absl::Milliseconds(200));
  EXPECT_TRUE(HasEndOnDisk());
  EXPECT_EQ(storage_.failure(), "");
  EXPECT_EQ(states_.size(), 1u);
}

TEST_F(SupervisedCommandTest, DeliversSignalsThatCameTooEarlyOnceItRuns) {
  BeginStart();
  EXPECT_THAT(command_->Signal(SignalOf(SIGUSR1, wire::Signal::TREE)), IsOk());
  EXPECT_THAT(command_->Signal(SignalOf(SIGTERM, wire::Signal::LEADER)),
              IsOk());
  EXPECT_EQ(group_.calls, "");
  played_.Succeed();
  RunLoop();
  EXPECT_EQ(group_.calls, "signal 10 ");
  CloseOutput();
  EndBySignal(SIGTERM);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
}

TEST_F(SupervisedCommandTest, IsKilledOnStartIfItWasCondemnedBefore) {
  BeginStart();
  command_->Condemn(wire::ExitRecord::SANDBOX_EXPIRED);
  command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
  played_.Succeed();
  RunLoop();
  EXPECT_EQ(group_.calls, "kill ");
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().wait_status(), SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::SANDBOX_EXPIRED);
}

TEST_F(SupervisedCommandTest, SignalsTheWholeTreeOrTheCommandAlone) {
  Start();
  EXPECT_THAT(command_->Signal(SignalOf(SIGHUP, wire::Signal::TREE)), IsOk());
  EXPECT_EQ(group_.calls, "signal 1 ");
  // Has no effect, and the signal 0 is no client's.
  EXPECT_THAT(command_->Signal(SignalOf(0, wire::Signal::LEADER)), IsOk());
  EXPECT_THAT(command_->Signal(SignalOf(SIGINT, wire::Signal::LEADER)), IsOk());
  EXPECT_EQ(group_.calls, "signal 1 ");
  EndBySignal(SIGINT);
  EXPECT_EQ(end().exit().wait_status(), SIGINT);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
}

TEST_F(SupervisedCommandTest, RefusesWhatNeedsATerminalWithoutOne) {
  Start();
  const auto refused =
      FailsWith(wire::Reply::NOT_A_TERMINAL, HasSubstr("terminal"));
  EXPECT_THAT(command_->Resize(24, 80), refused);
  EXPECT_THAT(
      command_->Signal(SignalOf(SIGINT, wire::Signal::FOREGROUND_GROUP)),
      refused);
}

TEST_F(SupervisedCommandTest, PassesInputInOrder) {
  spec().set_open_stdin(true);
  Start();
  int answers = 0;
  const auto write = [&](uint64_t offset, const std::string& data,
                         bool append) {
    wire::WriteInput input;
    input.set_offset(offset);
    input.set_data(data);
    input.set_append(append);
    command_->WriteInput(
        input, [&](const absl::Status& status, const wire::InputState&) {
          answers += status.ok() ? 1 : 100;
        });
  };
  write(0, "ab", false);
  write(99, "cd", true);
  EXPECT_EQ(answers, 2);
  char text[8];
  EXPECT_EQ(::read(played_.input().get(), text, sizeof(text)), 4);
  EXPECT_EQ(std::string(text, 4), "abcd");
  write(5, "e", false);  // a gap
  EXPECT_EQ(answers, 102);
  Exit(0);
  EXPECT_EQ(end().input().accepted_offset(), 4u);
  EXPECT_TRUE(end().input().closed());
}

TEST_F(SupervisedCommandTest, RefusesInputIfItWasStartedWithout) {
  Start();
  command_->WriteInput(wire::WriteInput(), [](const absl::Status& status,
                                              const wire::InputState&) {
    EXPECT_THAT(status, FailsWith(wire::Reply::NO_INPUT,
                                  HasSubstr("without standard input")));
  });
}

TEST_F(SupervisedCommandTest, ReapsACommandOnceItsTracerLetsGo) {
  if (!KillUnderATracer()) {
    GTEST_SKIP() << "this host lets nobody trace";
  }
  timers_.Advance(absl::Milliseconds(10));
  EXPECT_EQ(end().exit().wait_status(), SIGKILL);
}

TEST_F(SupervisedCommandTest, ReapsACommandOnceThoughItsEndIsSeenTwice) {
  if (!KillUnderATracer()) {
    GTEST_SKIP() << "this host lets nobody trace";
  }
  EXPECT_FALSE(command_->ReapIfOwn(1));
  EXPECT_TRUE(command_->ReapIfOwn(played_.child()));
  EXPECT_EQ(end().exit().wait_status(), SIGKILL);
  timers_.Advance(absl::Milliseconds(10));
  EXPECT_FALSE(command_->ReapIfOwn(played_.child()));
}

TEST_F(SupervisedCommandTest, ReportsNoEndWhenInitEnds) {
  Start();
  init_ends_ = true;
  EndBySignal(SIGKILL);
  EXPECT_TRUE(command_->lost());
  EXPECT_FALSE(command_->ended());
  EXPECT_EQ(states_.size(), 1u);
  EXPECT_FALSE(HasEndOnDisk());
}

TEST_F(SupervisedCommandTest, ReadsTheKernelsLogOnlyIfItDecides) {
  group_.usage.oom_kills = 1;
  Start();
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUT_OF_MEMORY);
  EXPECT_EQ(end().usage().oom_kills(), 1u);
  EXPECT_EQ(oom_questions_, 1);
}

TEST_F(SupervisedCommandTest, AKillWithoutLackOfMemoryHasAnUnknownCause) {
  Start();
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_EQ(oom_questions_, 0);
}

TEST_F(SupervisedCommandTest, DoesNotReadTheKernelsLogOfAnotherEnd) {
  group_.usage.oom_kills = 1;
  Start();
  // A killed descendant.
  Exit(1);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_EQ(oom_questions_, 0);
}

TEST_F(SupervisedCommandTest, RemovesItsGroupAndItsFiles) {
  Start();
  Exit(0);
  group_.pids = {1};
  EXPECT_FALSE(command_->ReleaseCgroup());
  group_.pids.clear();
  EXPECT_TRUE(command_->ReleaseCgroup());
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_unlink}, EROFS, [&] { EXPECT_FALSE(command_->RemoveFiles()); }));
  EXPECT_THAT(storage_.failure(), HasSubstr("removal of e1"));
  EXPECT_TRUE(command_->RemoveFiles());
  EXPECT_TRUE(command_->RemoveFiles());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  command_.reset();
  EXPECT_EQ(storage_.failure(), "");
}

}  // namespace
}  // namespace sandbox

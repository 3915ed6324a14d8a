#include "sandbox/supervisor/command_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/supervisor/fake_command_group.h"
#include "tests/fakes/fake_timers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

class CommandProcessesTest : public ::testing::Test {
 protected:
  CommandProcessesTest() {
    processes_.SetGroup(std::make_unique<FakeCommandGroup>(&group_));
  }
  // A child that waits for a signal.
  pid_t StartLeader() {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        ::pause();
      }
    }
    processes_.SetLeader(
        UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))));
    return child;
  }

  tests::FakeTimers timers_;
  FakeCommandGroup::State group_;
  int all_dead_ = 0;
  CommandProcesses processes_{&timers_, [this] { ++all_dead_; }};
};

TEST_F(CommandProcessesTest, KillsTheLeaderAndTheGroup) {
  const pid_t leader = StartLeader();
  group_.pids = {leader};
  EXPECT_TRUE(processes_.any());
  processes_.Kill();
  int status = 0;
  EXPECT_EQ(::waitpid(leader, &status, 0), leader);
  EXPECT_EQ(status, SIGKILL);
  EXPECT_EQ(group_.calls, "kill ");
  EXPECT_EQ(all_dead_, 1);
  EXPECT_FALSE(processes_.any());
}

TEST_F(CommandProcessesTest, KillsAgainWithLongerPausesUntilNothingIsLeft) {
  group_.survives = true;
  group_.pids = {1};
  processes_.Kill();
  EXPECT_EQ(group_.calls, "kill ");
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(group_.calls, "kill kill ");
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(group_.calls, "kill kill ");
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(group_.calls, "kill kill kill ");
  timers_.Advance(absl::Seconds(10));
  group_.calls.clear();
  timers_.Advance(absl::Milliseconds(100));
  EXPECT_EQ(group_.calls, "kill ") << "the longest pause";
  EXPECT_EQ(all_dead_, 0);
  group_.survives = false;
  timers_.Advance(absl::Milliseconds(100));
  EXPECT_EQ(all_dead_, 1);
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(CommandProcessesTest, ReportsOnceThatAllAreDeadIfItIsAskedToKillAgain) {
  group_.survives = true;
  group_.pids = {1};
  processes_.Kill();
  group_.survives = false;
  processes_.Kill();
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_EQ(all_dead_, 1);
}

TEST_F(CommandProcessesTest, RemovesTheGroupOnlyWhenItIsEmpty) {
  group_.survives = true;
  group_.pids = {1};
  processes_.Kill();
  const auto remove = [](std::unique_ptr<CommandGroup>& group) {
    return group->Remove().ok();
  };
  EXPECT_FALSE(processes_.ReleaseGroup(remove));
  EXPECT_EQ(timers_.size(), 1u);
  group_.pids.clear();
  EXPECT_TRUE(processes_.ReleaseGroup(remove));
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(CommandProcessesTest, SignalsTheLeaderOrTheTree) {
  const pid_t leader = StartLeader();
  processes_.SignalTree(SIGHUP);
  EXPECT_EQ(group_.calls, "signal 1 ");
  processes_.SignalLeader(SIGUSR1);
  int status = 0;
  EXPECT_EQ(::waitpid(leader, &status, 0), leader);
  EXPECT_EQ(status, SIGUSR1);
  EXPECT_EQ(group_.calls, "signal 1 ");
}

TEST_F(CommandProcessesTest, RecordsTheKilledProcessesExceptForTheLeader) {
  const pid_t leader = StartLeader();
  group_.pids = {leader, ::getpid()};
  processes_.NoteKilled();
  processes_.NoteKilled();
  wire::ExitRecord exit;
  processes_.WriteKilled(&exit);
  ASSERT_EQ(exit.killed_size(), 1);
  EXPECT_EQ(exit.killed_count(), 1u);
  EXPECT_NE(exit.killed(0).pid(), leader);
  EXPECT_NE(exit.killed(0).command(), "");
  processes_.Kill();
  EXPECT_EQ(::waitpid(leader, nullptr, 0), leader);
}

TEST_F(CommandProcessesTest, WithoutAGroupThereIsNothingToDo) {
  CommandProcesses none(&timers_, [this] { ++all_dead_; });
  EXPECT_FALSE(none.any());
  none.SignalLeader(SIGKILL);
  none.SignalTree(SIGKILL);
  none.NoteKilled();
  none.Kill();
  EXPECT_EQ(all_dead_, 1);
  EXPECT_TRUE(
      none.ReleaseGroup([](std::unique_ptr<CommandGroup>&) { return false; }));
}

// A session whose controlling terminal is `slave`; exits with the signal that
// reaches its foreground group.
[[noreturn]] void RunSession(const char* slave, int ready) {
  // TSan may deliver a caught signal late.
  for (const int number : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP}) {
    ::signal(number, SIG_DFL);
  }
  ::prctl(PR_SET_DUMPABLE, 0);  // no core of SIGQUIT
  ::setsid();
  const int terminal = ::open(slave, O_RDWR);
  if (terminal < 0 || ::ioctl(terminal, TIOCSCTTY, 0) != 0 ||
      ::write(ready, "r", 1) != 1) {
    ::_exit(99);
  }
  for (;;) {
    ::pause();
  }
}

TEST_F(CommandProcessesTest, SignalsTheForegroundGroupOfATerminal) {
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP}) {
    group_.calls.clear();
    const UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master.valid() || ::grantpt(master.get()) != 0 ||
        ::unlockpt(master.get()) != 0) {
      GTEST_SKIP() << "this host gives no terminal";
    }
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const UniqueFd read(ready[0]);
    UniqueFd write(ready[1]);
    const std::string slave = ::ptsname(master.get());
    const pid_t session = ::fork();
    if (session == 0) {
      RunSession(slave.c_str(), write.get());
    }
    write.Reset();
    char byte;
    ASSERT_EQ(::read(read.get(), &byte, 1), 1);
    EXPECT_THAT(processes_.SignalForegroundGroup(master.get(), signal), IsOk());
    int status = 0;
    if (signal != SIGHUP) {
      // The kernel sends it to all of the group at once.
      EXPECT_EQ(group_.calls, "");
      // It does not stop a group that nobody could continue.
      const int end = signal == SIGTSTP ? SIGKILL : signal;
      if (end != signal) {
        ::kill(session, end);
      }
      EXPECT_EQ(::waitpid(session, &status, 0), session);
      EXPECT_EQ(status, end);
    } else {
      EXPECT_EQ(group_.calls, absl::StrCat("signal 1 to ", session, " "));
      ::kill(session, SIGKILL);
      EXPECT_EQ(::waitpid(session, &status, 0), session);
      // Nobody is left in the foreground.
      EXPECT_THAT(processes_.SignalForegroundGroup(master.get(), signal),
                  IsOk());
      EXPECT_EQ(group_.calls, absl::StrCat("signal 1 to ", session, " "));
    }
  }
}

TEST_F(CommandProcessesTest, KillsTheLeaderBeforeItCanSeeTheOthersDie) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]);
  const pid_t leader = ::fork();
  if (leader == 0) {
    char byte;
    ::_exit(::read(read.get(), &byte, 1) == 1 ? 5 : 6);
  }
  processes_.SetLeader(
      UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, leader, 0))));
  group_.killing = [&] {
    EXPECT_EQ(::write(write.get(), "x", 1), 1);
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(leader), &info, WEXITED | WNOWAIT);
  };
  processes_.Kill();
  int status = 0;
  EXPECT_EQ(::waitpid(leader, &status, 0), leader);
  EXPECT_EQ(status, SIGKILL);
}

}  // namespace
}  // namespace sandbox

#include "sandbox/supervisor/stopped_start.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

class StoppedStartTest : public ::testing::Test {
 protected:
  // A child that stops itself `times`, then exits with 3. Returns when it has
  // stopped first.
  static pid_t Start(int times) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0; i < times; ++i) {
        ::raise(SIGSTOP);
      }
      ::_exit(3);
    }
    AwaitStop(child);
    return child;
  }
  // Leaves the stop to be found.
  static void AwaitStop(pid_t child) {
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(child), &info,
             WSTOPPED | WEXITED | WNOWAIT);
  }
  static int StatusOf(pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }

  pid_t known_ = 0;
  StoppedStart start_{[this](pid_t pid) { return pid == known_; }};
};

TEST_F(StoppedStartTest, ContinuesAChildThatIsNotKnown) {
  const pid_t child = Start(1);
  start_.Free();
  EXPECT_EQ(StatusOf(child), 3 << 8);
}

TEST_F(StoppedStartTest, ContinuesAChildEachTimeItIsStopped) {
  const pid_t child = Start(3);
  for (int i = 0; i < 3; ++i) {
    AwaitStop(child);
    start_.Free();
  }
  EXPECT_EQ(StatusOf(child), 3 << 8);
}

TEST_F(StoppedStartTest, LeavesACommandStoppedThatRuns) {
  known_ = Start(1);
  const pid_t behind = Start(1);
  start_.Free();
  EXPECT_EQ(StatusOf(behind), 3 << 8);
  int status = 0;
  EXPECT_EQ(::waitpid(known_, &status, WNOHANG), 0);
  ::kill(known_, SIGKILL);
  EXPECT_EQ(StatusOf(known_), SIGKILL);
}

TEST_F(StoppedStartTest, KillsAChildThatIsStoppedAgainAndAgain) {
  // The child stops more often than Free() looks, since one call may find it
  // stopped twice.
  const pid_t child = Start(1'000'000);
  for (int i = 0; i <= StoppedStart::kPatience; ++i) {
    AwaitStop(child);
    start_.Free();
  }
  EXPECT_EQ(StatusOf(child), SIGKILL);
}

TEST_F(StoppedStartTest, HasPatienceWithEachStartAnew) {
  const pid_t first = Start(StoppedStart::kPatience);
  for (int i = 0; i < StoppedStart::kPatience; ++i) {
    AwaitStop(first);
    start_.Free();
  }
  EXPECT_EQ(StatusOf(first), 3 << 8);
  start_.Begin();
  const pid_t second = Start(1);
  start_.Free();
  EXPECT_EQ(StatusOf(second), 3 << 8);
}

TEST_F(StoppedStartTest, DoesNothingWhileNoChildIsStopped) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(3);
  }
  AwaitStop(child);
  start_.Free();
  EXPECT_EQ(StatusOf(child), 3 << 8);
}

}  // namespace
}  // namespace sandbox

#include "sandbox/supervisor/killed_processes.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

[[noreturn]] void WaitForAKill() {
  for (;;) {
    ::pause();
  }
}

void Kill(pid_t child) {
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

wire::ExitRecord RecordOf(const KilledProcesses& killed) {
  wire::ExitRecord record;
  killed.WriteTo(&record);
  return record;
}

TEST(KilledProcessesTest, LeavesOutAProcessThatHasEnded) {
  const pid_t ended = ::fork();
  if (ended == 0) {
    ::_exit(0);
  }
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT),
            0);
  KilledProcesses killed;
  killed.Note({ended, ::getpid()}, -1);
  EXPECT_EQ(RecordOf(killed).killed_size(), 1);
  EXPECT_EQ(RecordOf(killed).killed_count(), 1u);
  EXPECT_EQ(::waitpid(ended, nullptr, 0), ended);
  killed.Note({ended}, -1);
  EXPECT_EQ(RecordOf(killed).killed_count(), 1u);
}

TEST(KilledProcessesTest, NamesAProcessByItsPidInItsOwnNamespace) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::prctl(PR_SET_NAME, "victim");
    const pid_t child = ::unshare(CLONE_NEWPID) == 0 ? ::fork() : -1;
    if (child == 0) {
      WaitForAKill();
    }
    const bool sent = ::write(ends[1], &child, sizeof(child)) > 0;
    ::waitpid(child, nullptr, 0);
    ::_exit(sent ? 0 : 1);
  }
  pid_t child = -1;
  ASSERT_EQ(::read(ends[0], &child, sizeof(child)),
            static_cast<ssize_t>(sizeof(child)));
  ASSERT_GT(child, 1);
  KilledProcesses killed;
  killed.Note({child}, -1);
  const wire::ExitRecord record = RecordOf(killed);
  ASSERT_EQ(record.killed_size(), 1);
  EXPECT_EQ(record.killed(0).pid(), 1);
  EXPECT_EQ(record.killed(0).command(), "victim");
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(KilledProcessesTest, CountsEachProcessOnceAndDescribesTheFirst) {
  std::vector<pid_t> children(33);
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      WaitForAKill();
    }
  }
  KilledProcesses killed;
  for (int i = 0; i < 2; ++i) {
    killed.Note(children, -1);
    EXPECT_EQ(RecordOf(killed).killed_size(), 32);
    EXPECT_EQ(RecordOf(killed).killed_count(), 33u);
  }
  for (const pid_t child : children) {
    Kill(child);
  }
}

}  // namespace
}  // namespace sandbox

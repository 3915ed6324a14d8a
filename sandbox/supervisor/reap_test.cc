#include "sandbox/supervisor/reap.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/waiting_thread.h"

namespace sandbox {
namespace {

// A child that does `then`.
UniqueFd Start(void (*then)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    then();
    ::_exit(99);
  }
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
}

int StatusOf(void (*then)()) {
  const UniqueFd child = Start(then);
  return Reap(child.get(), 0)->wait_status;
}

TEST(ReapTest, ReportsEachExitCode) {
  EXPECT_EQ(StatusOf([] { ::_exit(0); }), 0);
  EXPECT_EQ(StatusOf([] { ::_exit(126); }), 126 << 8);
  EXPECT_EQ(StatusOf([] { ::_exit(137); }), 137 << 8);
  EXPECT_EQ(StatusOf([] { ::_exit(255); }), 255 << 8);
}

TEST(ReapTest, DistinguishesASignalFromAnExitCode) {
  EXPECT_EQ(StatusOf([] { ::raise(SIGKILL); }), SIGKILL);
  EXPECT_EQ(StatusOf([] { ::raise(SIGRTMAX); }), SIGRTMAX);
}

TEST(ReapTest, ReportsACoreDumpIfTheKernelWroteOne) {
  const UniqueFd child = Start([] {
    const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_CORE, &unlimited);
    if (::chdir(::testing::TempDir().c_str()) == 0) {
      ::raise(SIGQUIT);
    }
  });
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_PIDFD, static_cast<id_t>(child.get()), &info,
                     WEXITED | WNOWAIT),
            0);
  const int status = Reap(child.get(), 0)->wait_status;
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGQUIT);
  EXPECT_EQ(WCOREDUMP(status) != 0, info.si_code == CLD_DUMPED);
}

TEST(ReapTest, DoesNotWaitForALivingChildWithWnohang) {
  const UniqueFd child = Start([] { ::pause(); });
  EXPECT_FALSE(Reap(child.get(), WNOHANG).has_value());
  ::syscall(SYS_pidfd_send_signal, child.get(), SIGTERM, nullptr, 0);
  EXPECT_EQ(Reap(child.get(), 0)->wait_status, SIGTERM);
}

TEST(ReapTest, WaitsForAChildThatIsAboutToEndAndNotForAnother) {
  const UniqueFd ending = Start([] { ::_exit(3); });
  const std::optional<Reaped> reaped = ReapWithin(ending.get(), absl::Hours(1));
  ASSERT_TRUE(reaped.has_value());
  EXPECT_EQ(reaped->wait_status, 3 << 8);
  const UniqueFd living = Start([] { ::pause(); });
  EXPECT_FALSE(ReapWithin(living.get(), absl::ZeroDuration()).has_value());
  ::syscall(SYS_pidfd_send_signal, living.get(), SIGKILL, nullptr, 0);
  EXPECT_EQ(Reap(living.get(), 0)->wait_status, SIGKILL);
}

// True if a signal has been sent to the thread and not arrived yet.
bool HasPendingSignal(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string word;
  while (status >> word && word != "SigPnd:") {
  }
  status >> word;
  return word != "0000000000000000";
}

TEST(ReapTest, WaitsOnAfterASignal) {
  // Without SA_RESTART, it ends a call that waits.
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  const UniqueFd child = Start([] {
    for (;;) {
      ::pause();
    }
  });
  std::atomic<pid_t> waiter = 0;
  std::optional<Reaped> reaped;
  std::thread thread([&] {
    waiter = ::gettid();
    reaped = Reap(child.get(), 0);
  });
  while (!tests::WaitsIn(waiter, SYS_waitid)) {
    std::this_thread::yield();
  }
  ::syscall(SYS_tgkill, ::getpid(), waiter.load(), SIGUSR1);
  while (HasPendingSignal(waiter)) {
    std::this_thread::yield();
  }
  ::syscall(SYS_pidfd_send_signal, child.get(), SIGTERM, nullptr, 0);
  thread.join();
  ASSERT_TRUE(reaped.has_value());
  EXPECT_EQ(reaped->wait_status, SIGTERM);
}

TEST(ReapTest, NamesTheProcessBehindAPidfdUntilItIsReaped) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(0);
  }
  const UniqueFd child(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  EXPECT_EQ(PidOf(child.get()), pid);
  const std::optional<Reaped> reaped = Reap(child.get(), 0);
  ASSERT_TRUE(reaped.has_value());
  EXPECT_EQ(reaped->pid, pid);
  EXPECT_GT(reaped->usage.ru_maxrss, 0);
  EXPECT_EQ(PidOf(child.get()), -1);
  EXPECT_EQ(PidOf(-1), -1);
}

}  // namespace
}  // namespace sandbox

// Loads the filter of supervisors into children of the test.

#include "sandbox/seccomp/supervisor_profile.h"

#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "sandbox/seccomp/filter.h"
#include "sandbox/seccomp/seccomp.h"
#include "tests/failing_calls.h"

namespace sandbox::seccomp {
namespace {

// Returns the errno of a call with invalid arguments, or 0.
int ErrnoOf(long number, long first = -1) {
  return ::syscall(number, first, -1L, -1L, -1L, -1L, -1L) == -1 ? errno : 0;
}

// Returns the status of a child that does `act`.
int StatusOf(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    // Dumps no core, which would show in the status.
    ::prctl(PR_SET_DUMPABLE, 0);
    ::_exit(act());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// The same with the supervisor's profile.
int StatusOfSupervisor(const std::function<int()>& act) {
  return StatusOf([&] { return LoadSupervisorProfile().ok() ? act() : 99; });
}

class SupervisorProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer makes calls of its own";
#endif
  }
};

TEST_F(SupervisorProfileTest, AllowsEachCallOfItsList) {
  // They end the process, or could reach others.
  const std::set<std::string> left_out = {"exit", "exit_group", "kill",
                                          "rt_sigreturn"};
  for (const char* name : kSupervisorAllowed) {
    const int number = Number(name);
    if (left_out.count(name) == 0) {
      EXPECT_EQ(StatusOfSupervisor([number] {
                  ErrnoOf(number);
                  return 0;
                }),
                0)
          << name;
    }
  }
  EXPECT_EQ(StatusOfSupervisor([] {
              ::syscall(SYS_exit, 7);
              return 0;
            }),
            7 << 8);
}

TEST_F(SupervisorProfileTest, KillsAProcessThatMakesAnotherCall) {
  for (const long number : {SYS_execve,      SYS_execveat,
                            SYS_fork,        SYS_vfork,
                            SYS_ptrace,      SYS_mount,
                            SYS_umount2,     SYS_setns,
                            SYS_unshare,     SYS_chroot,
                            SYS_pivot_root,  SYS_bpf,
                            SYS_keyctl,      SYS_prctl,
                            SYS_seccomp,     SYS_capset,
                            SYS_setresuid,   SYS_init_module,
                            SYS_kexec_load,  SYS_io_uring_setup,
                            SYS_connect,     SYS_process_vm_writev,
                            SYS_pidfd_getfd, SYS_open_by_handle_at,
                            SYS_mknodat,     SYS_symlinkat,
                            SYS_linkat,      SYS_fchmod,
                            SYS_getppid}) {
    EXPECT_EQ(StatusOfSupervisor([number] {
                ErrnoOf(number);
                return 0;
              }),
              SIGSYS)
        << number;
  }
}

TEST_F(SupervisorProfileTest, LooksAtArguments) {
  const auto socket = [](int family, int type, int protocol) {
    return StatusOfSupervisor(
        [=] { return ::socket(family, type, protocol) >= 0 ? 0 : errno; });
  };
  constexpr int kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  EXPECT_EQ(socket(AF_INET, SOCK_STREAM | kFlags, 0), 0);
  EXPECT_NE(socket(AF_INET6, SOCK_STREAM | kFlags, 0), SIGSYS);
  EXPECT_EQ(socket(AF_INET, SOCK_DGRAM, 0), SIGSYS);
  EXPECT_EQ(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), SIGSYS);
  EXPECT_EQ(socket(AF_UNIX, SOCK_STREAM, 0), SIGSYS);
  EXPECT_EQ(socket(AF_NETLINK, SOCK_RAW, 0), SIGSYS);
  const auto map = [](int protection) {
    return StatusOfSupervisor([=] {
      return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0) != MAP_FAILED
                 ? 0
                 : errno;
    });
  };
  EXPECT_EQ(map(PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(map(PROT_READ | PROT_EXEC), SIGSYS);
  const auto control = [](unsigned long request) {
    return StatusOfSupervisor([=] {
      int value = 0;
      return ::ioctl(-1, request, &value) != 0 && errno == EBADF ? 0 : 1;
    });
  };
  const auto limit = [](__rlimit_resource resource) {
    return StatusOfSupervisor([=] {
      rlimit value;
      return ::prlimit(0, resource, nullptr, &value) == 0 ? 0 : 1;
    });
  };
  EXPECT_EQ(limit(RLIMIT_CORE), 0);
  EXPECT_EQ(limit(RLIMIT_NOFILE), SIGSYS);
  EXPECT_EQ(control(TIOCSWINSZ), 0);
  EXPECT_EQ(control(TIOCSTI), SIGSYS);
  EXPECT_EQ(control(TIOCSETD), SIGSYS);
}

TEST_F(SupervisorProfileTest, GivesFilesNoModeButThatOfGroups) {
  const auto change = [](mode_t mode) {
    return StatusOfSupervisor(
        [=] { return ::chmod("", mode) == 0 ? 0 : errno; });
  };
  EXPECT_EQ(change(0755), ENOENT << 8);
  EXPECT_EQ(change(0777), SIGSYS);
  EXPECT_EQ(change(04755), SIGSYS);
}

TEST_F(SupervisorProfileTest, MakesThreadsAndNoProcesses) {
  EXPECT_EQ(StatusOfSupervisor([] {
              int result = 1;
              std::thread([&result] { result = 0; }).join();
              return result;
            }),
            0);
  EXPECT_EQ(StatusOfSupervisor([] { return ErrnoOf(SYS_clone3); }),
            ENOSYS << 8);
  for (const long flags : {long{SIGCHLD}, long{CLONE_VFORK | CLONE_VM},
                           long{CLONE_THREAD | CLONE_NEWNET}}) {
    EXPECT_EQ(StatusOfSupervisor([=] { return ErrnoOf(SYS_clone, flags); }),
              SIGSYS)
        << flags;
  }
}

TEST_F(SupervisorProfileTest, IsThatOfAllThreads) {
  EXPECT_EQ(StatusOf([] {
              std::atomic<bool> loaded = false;
              std::thread other([&loaded] {
                while (!loaded) {
                  std::this_thread::yield();
                }
                ErrnoOf(SYS_getppid);
              });
              loaded = LoadSupervisorProfile().ok();
              other.join();
              return 0;
            }),
            SIGSYS);
}

// strace makes a call fail in this way.
TEST_F(SupervisorProfileTest, LetsATracerCancelACall) {
  EXPECT_EQ(StatusOfSupervisor([] { return ErrnoOf(-1) == ENOSYS ? 0 : 1; }),
            0);
}

TEST_F(SupervisorProfileTest, IsNotLoadedWhereAThreadHasAnotherFilter) {
  EXPECT_EQ(StatusOf([] {
              std::atomic<bool> filtered = false;
              std::thread([&filtered] {
                filtered = tests::FailCalls({SYS_sync}, EPERM);
                ::pause();
              }).detach();
              while (!filtered) {
                std::this_thread::yield();
              }
              const absl::Status loaded = LoadSupervisorProfile();
              return absl::StrContains(loaded.message(), "another filter") ? 0
                                                                           : 1;
            }),
            0);
}

}  // namespace
}  // namespace sandbox::seccomp

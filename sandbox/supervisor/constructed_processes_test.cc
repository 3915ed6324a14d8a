// The processes of a sandbox that was made, as the host sees them.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/privileges.h"
#include "sandbox/seccomp/profile_name.h"
#include "sandbox/supervisor/construction.h"
#include "sandbox/supervisor/construction_fixture.h"
#include "tests/failing_calls.h"
#include "tests/ignored_signal.h"

namespace sandbox {
namespace {

using ::testing::Contains;

// Returns what ps shows: the name and the command line up to the first NUL.
std::string NamesOf(pid_t pid) {
  std::string name;
  std::string command_line;
  std::getline(std::ifstream(absl::StrCat("/proc/", pid, "/comm")), name);
  std::getline(std::ifstream(absl::StrCat("/proc/", pid, "/cmdline")),
               command_line, '\0');
  return absl::StrCat(name, " ", command_line);
}

// Waits until the program of init runs. That of the spawner does already.
void AwaitInit(const Construction& construction) {
  while (NamesOf(construction.init.pid) != "corral-init corral-init") {
  }
}

// Returns the value of the line of /proc/PID/status that begins with `key`.
std::string StatusOf(pid_t pid, const std::string& key) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  while (std::getline(file, line) && line.find(key + ":\t") != 0) {
  }
  return line.substr(std::min(line.size(), key.size() + 2));
}

TEST(ConstructedProcessesTest, PsOnTheHostShowsWhatEachProcessIs) {
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    EXPECT_EQ(NamesOf(construction.spawner.pid),
              "corral-spawner corral-spawner");
    AwaitInit(construction);
  });
  EXPECT_TRUE(made.ok()) << made;
}

// Returns how much the kernel prefers to kill the process when memory runs out.
int OomScoreOf(pid_t pid) {
  int score = 0;
  std::ifstream(absl::StrCat("/proc/", pid, "/oom_score_adj")) >> score;
  return score;
}

TEST(ConstructedProcessesTest, OffersItsProcessesToTheOomKillerFirst) {
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    EXPECT_EQ(OomScoreOf(construction.init.pid), 1000);
    EXPECT_EQ(OomScoreOf(construction.spawner.pid), 1000);
  });
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, EndsTheSpawnerThatItReplaces) {
  const absl::Status made =
      Make([](Construction& construction, const Cgroup& home) {
        const pid_t first = construction.spawner.pid;
        const absl::Status replaced =
            ReplaceSpawner(home, seccomp::Profile::kStrict, construction);
        EXPECT_TRUE(replaced.ok()) << replaced;
        EXPECT_EQ(::kill(first, 0), -1);
        EXPECT_EQ(errno, ESRCH);
        EXPECT_EQ(NamesOf(construction.spawner.pid),
                  "corral-spawner corral-spawner");
        EXPECT_EQ(OomScoreOf(construction.spawner.pid), 1000);
      });
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, ShareSealedFilesWithTheSupervisor) {
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    constexpr int kSize = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    EXPECT_EQ(::fcntl(construction.exchange.get(), F_GET_SEALS), kSize);
    struct stat exchange = {};
    ::fstat(construction.exchange.get(), &exchange);
    EXPECT_EQ(static_cast<size_t>(exchange.st_size), kExchangeSize);
    AwaitInit(construction);
    for (const Child* child : {&construction.init, &construction.spawner}) {
      const UniqueFd program(
          ::open(absl::StrCat("/proc/", child->pid, "/exe").c_str(),
                 O_RDONLY | O_CLOEXEC));
      EXPECT_EQ(::fcntl(program.get(), F_GET_SEALS), kSize | F_SEAL_WRITE);
    }
  });
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, HaveFewRightsAndNoFilesOfTheHost) {
  const mode_t before = ::umask(077);
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    AwaitInit(construction);
    const pid_t init = construction.init.pid;
    const pid_t spawner = construction.spawner.pid;
    EXPECT_EQ(StatusOf(init, "CapPrm"), "0000000000000000");
    // CAP_SETGID and CAP_SETUID.
    EXPECT_EQ(StatusOf(spawner, "CapPrm"), "00000000000000c0");
    EXPECT_EQ(StatusOf(spawner, "Umask"), "0022") << "which commands inherit";
    for (const pid_t pid : {init, spawner}) {
      EXPECT_EQ(StatusOf(pid, "CapBnd"), "0000000000000000");
      EXPECT_EQ(StatusOf(pid, "NoNewPrivs"), "1");
      for (const int fd : {0, 1, 2}) {
        struct stat status = {};
        ::stat(absl::StrCat("/proc/", pid, "/fd/", fd).c_str(), &status);
        EXPECT_EQ(status.st_rdev, ::makedev(1, 3)) << "not /dev/null: " << fd;
      }
    }
  });
  ::umask(before);
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, HaveNoSignalIgnoredOrBlocked) {
  const tests::IgnoredSignal first(SIGHUP);
  const tests::IgnoredSignal library(tests::kLibrarySignal);
  const tests::IgnoredSignal last(SIGRTMAX);
  constexpr uint64_t kIgnored = 0x8000000080000001;
  sigset_t term;
  sigset_t open;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &term, &open);
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    AwaitInit(construction);
    for (const Child* child : {&construction.init, &construction.spawner}) {
      EXPECT_EQ(StatusOf(child->pid, "SigBlk"), "0000000000000000");
      // Init itself ignores SIGCHLD.
      const uint64_t still =
          std::stoull(StatusOf(child->pid, "SigIgn"), nullptr, 16);
      EXPECT_EQ(still & kIgnored, 0u) << std::hex << still;
    }
  });
  ::sigprocmask(SIG_SETMASK, &open, nullptr);
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, SayWhyNoOtherProcessJoinsThem) {
  const absl::Status made = Make([](Construction& construction,
                                    const Cgroup& home) {
    absl::Status completed;
    absl::Status replaced;
    EXPECT_TRUE(tests::WithFailingCalls({SYS_clone, SYS_clone3}, EAGAIN, [&] {
      completed = Complete(construction, Particulars()).status();
      replaced = ReplaceSpawner(home, seccomp::Profile::kStrict, construction);
    }));
    EXPECT_EQ(completed.message(), "clone: Resource temporarily unavailable");
    EXPECT_EQ(replaced.message(), "clone3: Resource temporarily unavailable");
  });
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, AreNotDeadWhenACallInsideFails) {
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    constexpr uint64_t kMemory = uint64_t{64} << 20;
    absl::Status completed;
    // The code of this errno is Aborted.
    EXPECT_TRUE(tests::WithFailingCalls({SYS_fspick}, ESTALE, [&] {
      completed =
          Complete(construction, {{}, kMemory, seccomp::Profile::kDefault})
              .status();
    }));
    EXPECT_FALSE(absl::IsAborted(completed)) << completed;
    EXPECT_EQ(completed.message(),
              "complete the mounts: fspick(tmp): Stale file handle");
  });
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, LiveInTheirGroup) {
  const absl::Status made =
      Make([](Construction& construction, const Cgroup& home) {
        for (const Child* child : {&construction.init, &construction.spawner}) {
          EXPECT_THAT(home.Pids(), Contains(child->pid));
        }
      });
  EXPECT_TRUE(made.ok()) << made;
}

// Enters the sandbox as a process that becomes root there. Returns the errno of
// making a user namespace, the name of the host, and "1" if shared memory goes
// with its last user.
std::string LookInside(const Construction& construction) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  const absl::StatusOr<Child> child =
      ForkInto(construction.init.pidfd.get(), -1);
  EXPECT_TRUE(child.ok()) << child.status();
  if (child.ok() && child->pid == 0) {
    char name[65] = {};
    char removes = '?';
    std::ifstream("/proc/sys/kernel/shm_rmid_forced") >> removes;
    const bool can = BecomeNamespaceRoot().ok() && ::gethostname(name, 64) == 0;
    const int error = ::unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
    const std::string found =
        absl::StrCat(error, " ", name, " ", std::string(1, removes));
    ::_exit(can && ::write(write.get(), found.data(), found.size()) > 0 ? 0
                                                                        : 1);
  }
  write.Reset();
  char text[128] = {};
  EXPECT_GT(::read(read.get(), text, sizeof(text) - 1), 0);
  ::waitpid(child->pid, nullptr, 0);
  return text;
}

TEST(ConstructedProcessesTest, FindTheirNamespacesSetUp) {
  const absl::Status made = Make([](Construction& construction, const Cgroup&) {
    EXPECT_EQ(LookInside(construction), absl::StrCat(ENOSPC, " corral 1"));
    const absl::Status completed =
        Complete(construction, {{}, 0, seccomp::Profile::kNested}).status();
    EXPECT_TRUE(completed.ok()) << completed;
    EXPECT_EQ(LookInside(construction), "0 corral 1");
  });
  EXPECT_TRUE(made.ok()) << made;
}

TEST(ConstructedProcessesTest, EndWithTheSupervisor) {
  absl::StatusOr<Ground> ground = Prepare();
  ASSERT_TRUE(ground.ok()) << ground.status();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    const absl::StatusOr<Construction> made = ConstructOn(*ground);
    const pid_t pids[] = {made.ok() ? made->init.pid : -1,
                          made.ok() ? made->spawner.pid : -1};
    if (::write(write.get(), pids, sizeof(pids)) == sizeof(pids)) {
      ::pause();
    }
    ::_exit(1);
  }
  write.Reset();
  pid_t pids[2] = {};
  ASSERT_EQ(::read(read.get(), pids, sizeof(pids)),
            static_cast<ssize_t>(sizeof(pids)));
  std::vector<UniqueFd> processes;
  for (const pid_t pid : pids) {
    processes.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ASSERT_TRUE(processes.back().valid());
  }
  ::kill(supervisor, SIGKILL);
  EXPECT_EQ(::waitpid(supervisor, nullptr, 0), supervisor);
  for (const UniqueFd& process : processes) {
    pollfd ended = {process.get(), POLLIN, 0};
    while (::poll(&ended, 1, -1) <= 0) {
    }
  }
  for (Cgroup* group : {&ground->init, &ground->cgroup}) {
    while (!group->Remove().ok()) {
      ::sched_yield();
    }
  }
}

}  // namespace
}  // namespace sandbox

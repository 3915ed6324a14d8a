// Calls of a process that plays a command, under the real filter.

#include "sandbox/supervisor/mode_calls.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/seccomp/profile_name.h"
#include "sandbox/seccomp/seccomp.h"
#include "sandbox/supervisor/side_process.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

using ::tests::IsOk;

constexpr uint32_t kFirstId = 0x70000000;
constexpr uid_t kUser = kFirstId + 1000;

class ModeCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    char directory[] = "/tmp/mode-calls-XXXXXX";
    ASSERT_NE(::mkdtemp(directory), nullptr);
    place_ = directory;
    ASSERT_EQ(::chown(place_.c_str(), kUser, kUser), 0);
  }
  void TearDown() override {
    calls_.reset();
    if (command_ > 0) {
      ::kill(command_, SIGKILL);
      ::waitpid(command_, nullptr, 0);
    }
    fs::remove_all(place_);
  }

  // Runs `command` in a process whose calls arrive. It exits with the result.
  void Start(const std::function<int()>& command,
             uint32_t first_id = kFirstId) {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    const UniqueFd ours(fds[0]);
    UniqueFd theirs(fds[1]);
    command_ = ::fork();
    if (command_ == 0) {
      ::_exit(BecomeCommand(theirs.get()) ? command() : 255);
    }
    theirs.Reset();
    char byte;
    absl::StatusOr<ReceivedPacket> packet =
        ReceiveWithFds(ours.get(), &byte, 1);
    ASSERT_TRUE(packet.ok());
    ASSERT_EQ(packet->fds.size(), 1u);
    absl::StatusOr<SideProcess> calls =
        StartModeCalls(std::move(packet->fds[0]), self_, first_id);
    ASSERT_THAT(calls.status(), IsOk());
    calls_.emplace(*std::move(calls));
  }
  bool BecomeCommand(int socket) const {
    if (::chdir(place_.c_str()) != 0 || ::setresgid(kUser, kUser, kUser) != 0 ||
        ::setresuid(kUser, kUser, kUser) != 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
      return false;
    }
    const absl::StatusOr<UniqueFd> listener =
        seccomp::LoadProfile(seccomp::Profile::kDefault);
    return listener.ok() && SendWithFds(socket, "l", 1, {listener->get()}).ok();
  }

  // Waits for the end of the process. Returns its exit code.
  int Reap() {
    int status = -1;
    ::waitpid(std::exchange(command_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The process that makes the calls, when it has its name.
  static pid_t Server() {
    for (;;) {
      std::ifstream children("/proc/thread-self/children");
      for (pid_t child; children >> child;) {
        if (tests::ReadFile(absl::StrCat("/proc/", child, "/comm")) ==
            "corral-modes\n") {
          return child;
        }
      }
    }
  }
  mode_t ModeOf(const std::string& name) const {
    struct stat status = {};
    ::stat((place_ + "/" + name).c_str(), &status);
    return status.st_mode & 07777;
  }

  // Has the mounts in which the process runs.
  const UniqueFd self_{
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  std::optional<SideProcess> calls_;
  std::string place_;
  pid_t command_ = 0;
};

TEST_F(ModeCallsTest, AreMadeForDirectoriesAndRefusedForFiles) {
  Start([] {
    const bool made = ::mkdir("d", 0755) == 0 && ::chmod("d", 02775) == 0 &&
                      ::mknod("f", S_IFREG | 0755, 0) == 0;
    return made && ::chmod("f", 02755) == -1 ? errno : 0;
  });
  EXPECT_EQ(Reap(), EPERM);
  EXPECT_EQ(ModeOf("d"), 02775u);
  EXPECT_EQ(ModeOf("f") & S_ISGID, 0u);
}

// Returns how many of many calls fail.
int CallOften() {
  int refused = 0;
  for (int i = 0; i < 50; ++i) {
    refused += ::chmod("d", 02700) == 0 ? 0 : 1;
  }
  return refused;
}

TEST_F(ModeCallsTest, OfManyProcessesAreAllAnswered) {
  Start([] {
    int failed = ::mkdir("d", 0755);
    for (int child = 0; child < 8; ++child) {
      if (::fork() == 0) {
        ::_exit(CallOften());
      }
    }
    for (int status = 0; ::wait(&status) > 0;) {
      failed += status == 0 ? 0 : 1;
    }
    return failed;
  });
  EXPECT_EQ(Reap(), 0);
}

TEST_F(ModeCallsTest, FailWhenNobodyListensAnyMore) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  Start([&reader, &writer] {
    writer.Reset();
    char byte;
    return ::read(reader.get(), &byte, 1) == 0 && ::chmod(".", 02755) == -1
               ? errno
               : 0;
  });
  calls_.reset();
  writer.Reset();
  EXPECT_EQ(Reap(), ENOSYS);
}

TEST_F(ModeCallsTest, AreNotAwaitedWhenTheLastProcessHasEnded) {
  Start([] { return 7; });
  EXPECT_EQ(Reap(), 7);
  // It was woken by then, and rests only if it does not wait for the listener,
  // which hung up.
  char state = '?';
  while (state != 'S') {
    std::ifstream status(absl::StrCat("/proc/", Server(), "/stat"));
    std::string pid;
    std::string name;
    ASSERT_TRUE(status >> pid >> name >> state);
  }
}

// Returns the effective capabilities of a process; 0 stands for this one.
uint64_t CapabilitiesOf(pid_t pid) {
  const std::string status = tests::ReadFile(
      pid == 0 ? "/proc/self/status" : absl::StrCat("/proc/", pid, "/status"));
  constexpr char kField[] = "\nCapEff:\t";
  return std::stoull(status.substr(status.find(kField) + sizeof(kField) - 1),
                     nullptr, 16);
}

TEST_F(ModeCallsTest, AreMadeWithTheRightsThatTheyNeed) {
  Start([] { return ::chmod(".", 02755) == 0 ? 0 : errno; });
  EXPECT_EQ(Reap(), 0);
  uint64_t needed = 0;
  for (const int capability :
       {CAP_DAC_READ_SEARCH, CAP_SETGID, CAP_SETUID, CAP_SYS_PTRACE}) {
    needed |= uint64_t{1} << capability;
  }
  EXPECT_EQ(CapabilitiesOf(Server()), needed & CapabilitiesOf(0));
}

TEST_F(ModeCallsTest, NeedFewerRightsForTheUserOfTheSupervisor) {
  Start([] { return ::chmod(".", 02755) == -1 ? errno : 0; }, kNoRange);
  EXPECT_EQ(Reap(), EPERM) << "it is another user";
  EXPECT_EQ(CapabilitiesOf(Server()),
            (uint64_t{1} << CAP_SYS_PTRACE) & CapabilitiesOf(0));
}

}  // namespace
}  // namespace sandbox

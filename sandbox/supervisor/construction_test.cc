// Construction on a host that others change, or that refuses something.

#include "sandbox/supervisor/construction.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/log.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/supervisor/construction_fixture.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

// A file of the host that every sandbox sees.
constexpr char kFile[] = "/etc/inputrc";

// Replaces a file as package tools do. A mount of the old file that is not
// attached yet cannot be attached any more.
void Replace(const std::string& path) {
  std::ofstream(path + ".new") << "new";
  CHECK(::rename((path + ".new").c_str(), path.c_str()) == 0) << path;
}

// Makes each clone3(2) of the caller and its descendants wait for a process
// that serves the returned descriptor, see seccomp_unotify(2). Invalid: this
// host forbids it.
UniqueFd HoldClones() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
  return UniqueFd(
      static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                 SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)));
}

[[noreturn]] void MakeHeld(int socket) {
  // An /etc of its own.
  CHECK(::unshare(CLONE_NEWNS) == 0 &&
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("tmpfs", "/etc", "tmpfs", 0, nullptr) == 0);
  std::ofstream(kFile) << "old";
  UniqueFd listener = HoldClones();
  CHECK(SendWithFds(socket, "l", 1, {listener.get()}).ok());
  listener.Reset();
  const absl::Status made = Make([](Construction&, const Cgroup&) {});
  LOG(INFO) << made.ToString();
  ::_exit(made.ok() ? 0 : 1);
}

// Calls `first` while the first clone3 waits, and lets every clone3 continue
// until `process` has ended. Returns how many there were. The end of the filter
// is not a reliable sign: before Linux 6.11 it lasts until its last process is
// reaped.
template <typename Function>
int ServeClones(const UniqueFd& listener, const UniqueFd& process,
                Function first) {
  for (int clones = 0;; ++clones) {
    pollfd held[] = {{listener.get(), POLLIN, 0}, {process.get(), POLLIN, 0}};
    while (::poll(held, 2, -1) <= 0) {
    }
    seccomp_notif call = {};
    if ((held[0].revents & POLLIN) == 0 ||
        ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
      return clones;
    }
    if (clones == 0) {
      first();
    }
    seccomp_notif_resp answer = {};
    answer.id = call.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

TEST(ConstructionTest, StartsOverWhenAFileToBeMountedIsReplaced) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  const UniqueFd ours(fds[0]);
  UniqueFd theirs(fds[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    MakeHeld(theirs.get());
  }
  theirs.Reset();
  char byte;
  const absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(ours.get(), &byte, 1);
  ASSERT_TRUE(packet.ok() && packet->fds.size() == 1);
  // The trees of the sandbox are gathered, and init is to be made.
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const int clones = ServeClones(packet->fds[0], process, [child] {
    Replace(absl::StrCat("/proc/", child, "/root", kFile));
  });
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // Two times init, and the spawner.
  EXPECT_EQ(clones, 3);
}

// Returns true if Make() fails with `message` on a host that refuses a call. An
// empty one: it succeeds.
bool MakesWithout(int number, int error, absl::string_view message) {
  const pid_t child = ::fork();
  if (child == 0) {
    CHECK(tests::FailCalls({number}, error));
    const absl::Status made = Make([](Construction&, const Cgroup&) {});
    LOG(INFO) << made.ToString();
    ::_exit(made.message() == message ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(ConstructionTest, DoesWithoutLandlockOnAHostThatLacksIt) {
  EXPECT_TRUE(MakesWithout(SYS_landlock_create_ruleset, ENOSYS, ""));
}

TEST(ConstructionTest, SaysThatTheHostRefusesNamespaces) {
  EXPECT_TRUE(MakesWithout(SYS_clone3, EPERM,
                           "namespaces: clone3: Operation not permitted"));
}

TEST(ConstructionTest, SaysThatTheHostHasNoMemoryForFilters) {
  EXPECT_TRUE(MakesWithout(
      SYS_seccomp, 524,
      "seccomp(SET_MODE_FILTER): errno 524: this host's memory for compiled "
      "filters is used up; raise net.core.bpf_jit_limit"));
}

TEST(ConstructionTest, MakesNoSandboxWhenLandlockFails) {
  EXPECT_TRUE(MakesWithout(
      SYS_landlock_create_ruleset, ENOMEM,
      "the spawner: landlock_create_ruleset: Cannot allocate memory"));
}

}  // namespace
}  // namespace sandbox

// Each test enters a domain in a child, since a process cannot leave one.

#include "sandbox/kernel/landlock.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

// Returns true if `check` holds in a child.
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(check() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

absl::Status EnterForGood() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return EnterLandlockDomain();
}

// Returns true if a system call failed as Landlock makes it fail.
bool Denied(long result) { return result == -1 && errno == EPERM; }

// An address with this name, which begins with NUL if it is abstract.
class Address {
 public:
  explicit Address(const std::string& name)
      : size_(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                     name.size())) {
    address_.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), address_.sun_path);
  }
  int Bind(int socket) const { return ::bind(socket, Get(), size_); }
  int Connect(int socket) const { return ::connect(socket, Get(), size_); }
  long Send(int socket) const {
    return ::sendto(socket, "x", 1, 0, Get(), size_);
  }

 private:
  const sockaddr* Get() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }

  sockaddr_un address_ = {};
  const socklen_t size_;
};

UniqueFd NewSocket(int type) {
  return UniqueFd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
}

UniqueFd Listen(const Address& address) {
  UniqueFd socket = NewSocket(SOCK_STREAM);
  EXPECT_EQ(address.Bind(socket.get()), 0);
  EXPECT_EQ(::listen(socket.get(), 4), 0);
  return socket;
}

std::string Abstract(const char* name) {
  return std::string(1, '\0') + absl::StrCat(name, "-", ::getpid());
}

class LandlockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (HoldsInChild([] { return absl::IsUnimplemented(EnterForGood()); })) {
      GTEST_SKIP() << "this kernel has no Landlock with scopes";
    }
  }
};

TEST_F(LandlockTest, KeepsFromAbstractSocketsOfOthers) {
  const Address stream(Abstract("corral-landlock-stream"));
  const UniqueFd listener = Listen(stream);
  const Address packets(Abstract("corral-landlock-packets"));
  const UniqueFd receiver = NewSocket(SOCK_DGRAM);
  ASSERT_EQ(packets.Bind(receiver.get()), 0);
  EXPECT_TRUE(HoldsInChild([&] {
    return EnterForGood().ok() &&
           Denied(stream.Connect(NewSocket(SOCK_STREAM).get())) &&
           Denied(packets.Send(NewSocket(SOCK_DGRAM).get()));
  }));
  EXPECT_EQ(stream.Connect(NewSocket(SOCK_STREAM).get()), 0);
}

TEST_F(LandlockTest, LeavesItsOwnAbstractSocketsAndSocketsWithPaths) {
  const std::string path = absl::StrCat("/tmp/corral-landlock-", ::getpid());
  const Address file(path);
  const UniqueFd listener = Listen(file);
  const Address inside(Abstract("corral-landlock-inside"));
  EXPECT_TRUE(HoldsInChild([&] {
    const bool entered = EnterForGood().ok();
    const UniqueFd own = Listen(inside);
    return entered && file.Connect(NewSocket(SOCK_STREAM).get()) == 0 &&
           inside.Connect(NewSocket(SOCK_STREAM).get()) == 0 &&
           HoldsInChild([&] {
             return inside.Connect(NewSocket(SOCK_STREAM).get()) == 0;
           });
  }));
  ::unlink(path.c_str());
}

TEST_F(LandlockTest, KeepsFromSignallingAndTracingOthers) {
  const pid_t outside = ::getpid();
  EXPECT_TRUE(HoldsInChild([outside] {
    return EnterForGood().ok() && Denied(::kill(outside, 0)) &&
           Denied(::kill(outside, SIGCONT)) &&
           Denied(::ptrace(PTRACE_SEIZE, outside, 0, 0));
  }));
}

// Starts a process that waits, and kills it.
bool CanTraceAndKillAChild() {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) {
      ::pause();
    }
  }
  const bool done =
      ::ptrace(PTRACE_SEIZE, child, 0, 0) == 0 && ::kill(child, SIGKILL) == 0;
  int status = 0;
  return ::waitpid(child, &status, 0) == child && done;
}

TEST_F(LandlockTest, LeavesSignalsAndTracingAmongItsOwnProcesses) {
  EXPECT_TRUE(HoldsInChild(
      [] { return EnterForGood().ok() && CanTraceAndKillAChild(); }));
}

TEST_F(LandlockTest, ForbidsNoMountAndNoNameInAnotherDirectory) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  EXPECT_TRUE(HoldsInChild([] {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           EnterForGood().ok() &&
           ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) == 0 &&
           ::mkdir("/tmp/a", 0700) == 0 && ::mkdir("/tmp/b", 0700) == 0 &&
           ::symlink("x", "/tmp/a/file") == 0 &&
           ::rename("/tmp/a/file", "/tmp/b/file") == 0 && ::umount("/tmp") == 0;
  }));
}

TEST(NoLandlockTest, SaysThatAHostHasNoDomains) {
  for (const int error : {EPERM, ENOSYS, EOPNOTSUPP}) {
    EXPECT_TRUE(HoldsInChild([error] {
      return tests::FailCalls({SYS_landlock_create_ruleset}, error) &&
             EnterLandlockDomain() ==
                 absl::UnimplementedError(
                     absl::ErrnoToStatus(error, "landlock_create_ruleset")
                         .message());
    })) << error;
  }
  EXPECT_TRUE(HoldsInChild([] {
    return tests::FailCalls({SYS_landlock_create_ruleset}, E2BIG) &&
           EnterLandlockDomain() ==
               absl::UnimplementedError(
                   "Landlock has no scopes for signals and abstract "
                   "sockets before Linux 6.12");
  }));
}

TEST(NoLandlockTest, TakesNoOtherFailureForAMissingFeature) {
  EXPECT_TRUE(HoldsInChild([] {
    return tests::FailCalls({SYS_landlock_create_ruleset}, ENOMEM) &&
           EnterLandlockDomain() ==
               absl::ErrnoToStatus(ENOMEM, "landlock_create_ruleset");
  }));
}

TEST_F(LandlockTest, FailsIfTheDomainCannotBeEntered) {
  // The kernel knows 16 domains, one inside the other.
  EXPECT_TRUE(HoldsInChild([] {
    for (int i = 0; i < 16; ++i) {
      if (!EnterForGood().ok()) {
        return false;
      }
    }
    return EnterLandlockDomain() ==
           absl::ErrnoToStatus(E2BIG, "landlock_restrict_self");
  }));
}

}  // namespace
}  // namespace sandbox

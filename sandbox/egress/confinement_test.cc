#include "sandbox/egress/confinement.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"

namespace egress {
namespace {

// The result of a call that the filter lets pass.
constexpr int kPassed = 0;

// Runs `function` in a confined process. Returns its value, or the negative
// number of the signal that killed the process.
int Confined(const std::function<int()>& function) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(Confine().ok() ? function() : 99);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class ConfinementTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs more memory than the limit";
#endif
  }
};

int Socket(int family, int type) {
  return ::socket(family, type | SOCK_CLOEXEC, 0) >= 0 ? kPassed : errno;
}

int SetOption(int level, int option) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const linger value = {1, 0};
  return ::setsockopt(fd, level, option, &value, sizeof(value)) == 0 ? kPassed
                                                                     : errno;
}

int Map(int protection) {
  return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0) != MAP_FAILED
             ? kPassed
             : errno;
}

// Returns the most to which this process may raise its limit.
rlim_t Own(__rlimit_resource resource) {
  rlimit limit = {};
  ::getrlimit(resource, &limit);
  return limit.rlim_max;
}

TEST_F(ConfinementTest, AllowsSocketsOfTcpAndUdpAlone) {
  for (const int family : {AF_INET, AF_INET6}) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      EXPECT_EQ(Confined([&] { return Socket(family, type); }), kPassed);
    }
    EXPECT_EQ(Confined([&] { return Socket(family, SOCK_RAW); }), -SIGSYS);
  }
  for (const int family : {AF_UNIX, AF_NETLINK, AF_PACKET}) {
    EXPECT_EQ(Confined([&] { return Socket(family, SOCK_DGRAM); }), -SIGSYS);
  }
}

TEST_F(ConfinementTest, NamesTheSettingThatLimitsCompiledFilters) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    // The errno of a host whose memory for compiled filters is used up.
    const bool named =
        tests::FailCalls({SYS_prctl}, 524) &&
        absl::StrContains(Confine().message(), "net.core.bpf_jit_limit");
    ::_exit(named ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST_F(ConfinementTest, AllowsTheSocketOptionsThatItSets) {
  EXPECT_EQ(Confined([] { return SetOption(SOL_SOCKET, SO_LINGER); }), kPassed);
  EXPECT_EQ(Confined([] { return SetOption(IPPROTO_TCP, TCP_NODELAY); }),
            kPassed);
  EXPECT_EQ(Confined([] { return SetOption(SOL_SOCKET, SO_REUSEADDR); }),
            EPERM);
  EXPECT_EQ(Confined([] { return SetOption(SOL_SOCKET, SO_ATTACH_FILTER); }),
            EPERM);
  EXPECT_EQ(Confined([] { return SetOption(IPPROTO_TCP, TCP_CORK); }), EPERM);
  EXPECT_EQ(Confined([] { return SetOption(IPPROTO_IP, TCP_NODELAY); }), EPERM);
}

TEST_F(ConfinementTest, MapsNoMemoryForCode) {
  EXPECT_EQ(Confined([] { return Map(PROT_READ | PROT_WRITE); }), kPassed);
  EXPECT_EQ(Confined([] { return Map(PROT_READ | PROT_EXEC); }), -SIGSYS);
  EXPECT_EQ(Confined([] {
              static char page[8192];
              return ::mprotect(page, sizeof(page), PROT_READ | PROT_EXEC);
            }),
            -SIGSYS);
}

TEST_F(ConfinementTest, HidesFiles) {
  EXPECT_EQ(Confined([] {
              return ::open("/etc/passwd", O_RDONLY) < 0 ? errno : kPassed;
            }),
            ENOENT);
}

TEST_F(ConfinementTest, EndsAProcessThatMakesAnyOtherCall) {
  EXPECT_EQ(Confined([] { return ::fork() < 0 ? errno : kPassed; }), -SIGSYS);
  EXPECT_EQ(Confined([] { return ::kill(1, 0); }), -SIGSYS);
  EXPECT_EQ(Confined([] { return ::prctl(PR_SET_DUMPABLE, 1); }), -SIGSYS);
}

TEST_F(ConfinementTest, LimitsWhatTheProcessMayHave) {
  // prlimit(2) itself is not allowed afterwards, so a process that is not
  // confined asks for those of the confined one.
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  char byte = 'x';
  if (pid == 0) {
    const bool confined = Confine().ok();
    ::_exit(confined && ::write(ready[1], &byte, 1) == 1 &&
                    ::read(go[0], &byte, 1) == 1
                ? 0
                : 1);
  }
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto expect = [&](__rlimit_resource resource, rlim_t most) {
    rlimit limit = {};
    ASSERT_EQ(::prlimit(pid, resource, nullptr, &limit), 0);
    EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
    EXPECT_EQ(limit.rlim_cur, std::min(most, Own(resource)));
  };
  expect(RLIMIT_AS, 512 << 20);
  expect(RLIMIT_CORE, 0);
  expect(RLIMIT_FSIZE, 0);
  expect(RLIMIT_NPROC, 0);
  expect(RLIMIT_NOFILE, 16384);
  EXPECT_EQ(::write(go[1], &byte, 1), 1);
  int status = 1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace egress

#include "sandbox/kernel/inside_sockets.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::StartsWith;
using ::tests::IsOk;

// The number of a network namespace.
ino_t Inode(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

ino_t NamespaceOf(const UniqueFd& socket) {
  const UniqueFd its(::ioctl(socket.get(), SIOCGSKNS));
  return Inode(absl::StrCat("/proc/self/fd/", its.get()));
}

int FamilyOf(const UniqueFd& socket) {
  int family = 0;
  socklen_t size = sizeof(family);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &size);
  return family;
}

// A process with a network namespace of its own.
class Neighbour {
 public:
  Neighbour() {
    int made[2];
    EXPECT_EQ(::pipe(made), 0);
    const UniqueFd reader(made[0]);
    const UniqueFd writer(made[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char done = ::unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
      [[maybe_unused]] const ssize_t sent = ::write(writer.get(), &done, 1);
      for (;;) {
        ::pause();
      }
    }
    char done = 'n';
    EXPECT_EQ(::read(reader.get(), &done, 1), 1);
    EXPECT_EQ(done, 'y');
    pidfd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~Neighbour() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }

 private:
  pid_t pid_ = 0;
  UniqueFd pidfd_;
};

class InsideSocketsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    neighbour_.emplace();
  }

  std::optional<Neighbour> neighbour_;
};

TEST_F(InsideSocketsTest, BelongToTheNamespaceThatTheThreadHasEntered) {
  const ino_t own = Inode("/proc/thread-self/ns/net");
  const ino_t inside =
      Inode(absl::StrCat("/proc/", neighbour_->pid(), "/ns/net"));
  ASSERT_NE(own, inside);
  absl::Status entered;
  absl::StatusOr<std::vector<UniqueFd>> sockets;
  std::thread([&] {
    entered = EnterNetwork(neighbour_->pidfd());
    sockets = MakeTcpSockets();
  }).join();
  ASSERT_THAT(entered, IsOk());
  ASSERT_THAT(sockets.status(), IsOk());
  std::vector<int> families;
  for (const UniqueFd& socket : *sockets) {
    EXPECT_EQ(NamespaceOf(socket), inside);
    EXPECT_NE(::fcntl(socket.get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(socket.get(), F_GETFD), FD_CLOEXEC);
    families.push_back(FamilyOf(socket));
  }
  std::vector<int> expected = {AF_INET};
  if (UniqueFd(::socket(AF_INET6, SOCK_STREAM, 0)).valid()) {
    expected.push_back(AF_INET6);
  }
  EXPECT_EQ(families, expected);
  EXPECT_EQ(Inode("/proc/thread-self/ns/net"), own);
}

TEST_F(InsideSocketsTest, AreNotMadeWithoutIPv4) {
  absl::Status made;
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_socket}, EAFNOSUPPORT, [&] { made = MakeTcpSockets().status(); }));
  EXPECT_THAT(std::string(made.message()), StartsWith("socket: "));
}

TEST_F(InsideSocketsTest, AreNotMadeInPartForWantOfDescriptors) {
  if (!UniqueFd(::socket(AF_INET6, SOCK_STREAM, 0)).valid()) {
    GTEST_SKIP() << "this host has no IPv6";
  }
  absl::Status made;
  {
    UniqueFd first(::fcntl(0, F_DUPFD_CLOEXEC, 0));
    const tests::NoDescriptors none;
    first.Reset();
    made = MakeTcpSockets().status();
  }
  EXPECT_THAT(std::string(made.message()), StartsWith("socket: "));
}

TEST_F(InsideSocketsTest, AreOutOfReachWithoutTheProcess) {
  EXPECT_THAT(std::string(EnterNetwork(-1).message()),
              StartsWith("setns(net): "));
}

}  // namespace
}  // namespace sandbox

#include "sandbox/base/peer_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

class PeerProcessTest : public ::testing::Test {
 protected:
  PeerProcessTest()
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sun_family = AF_UNIX;
    // An abstract address.
    const std::string name = absl::StrCat("corral-peer-", ::getpid());
    std::memcpy(address_.sun_path + 1, name.data(), name.size());
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                   name.size());
    EXPECT_EQ(::bind(listener_.get(), address(), size_), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
  }
  ~PeerProcessTest() override {
    if (peer_ > 0) {
      ::kill(peer_, SIGKILL);
      ::waitpid(peer_, nullptr, 0);
    }
  }

  const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  // Makes a process that connects and waits, with `namespaces` of its own.
  // Returns the connection, or an invalid descriptor if the host refuses them.
  UniqueFd Connect(int namespaces) {
    if (namespaces != 0 && ::unshare(namespaces) != 0) {
      return UniqueFd();
    }
    peer_ = ::fork();
    if (peer_ == 0) {
      const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
      if (::connect(socket.get(), address(), size_) != 0) {
        ::_exit(1);
      }
      for (;;) {
        ::pause();
      }
    }
    if (namespaces != 0) {
      const UniqueFd own(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
      EXPECT_EQ(::setns(own.get(), CLONE_NEWPID), 0);
    }
    return UniqueFd(::accept(listener_.get(), nullptr, nullptr));
  }

  UniqueFd listener_;
  sockaddr_un address_ = {};
  socklen_t size_ = 0;
  pid_t peer_ = 0;
};

TEST_F(PeerProcessTest, IsNotFromBelowInTheSamePidNamespace) {
  EXPECT_FALSE(IsFromBelow(Connect(0).get()));
}

TEST_F(PeerProcessTest, IsFromBelowInAPidNamespaceOfItsOwn) {
  const UniqueFd connection = Connect(CLONE_NEWPID);
  if (!connection.valid()) {
    GTEST_SKIP() << "needs root";
  }
  EXPECT_TRUE(IsFromBelow(connection.get()));
}

TEST_F(PeerProcessTest, IsNotTrustedOnceItHasEnded) {
  const UniqueFd connection = Connect(0);
  ASSERT_TRUE(connection.valid());
  ::kill(peer_, SIGKILL);
  ASSERT_EQ(::waitpid(peer_, nullptr, 0), peer_);
  peer_ = 0;
  EXPECT_TRUE(IsFromBelow(connection.get()));
}

TEST_F(PeerProcessTest, IsNotTrustedWithoutAConnection) {
  EXPECT_TRUE(IsFromBelow(-1));
}

}  // namespace
}  // namespace sandbox

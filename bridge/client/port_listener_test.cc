#include "bridge/client/port_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "tests/network/loopback.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::tests::StatusIs;

class PortListenerTest : public ::testing::Test {
 protected:
  PortListenerTest() {
    listener_->Accept(loop_.get(), [this](UniqueFd socket) {
      accepted_.push_back(std::move(socket));
    });
  }

  void AwaitAccepted(size_t count) {
    while (accepted_.size() < count) {
      loop_->After(absl::Milliseconds(1), [this] { loop_->Stop(); });
      loop_->Run();
    }
  }

  std::unique_ptr<sandbox::EventLoop> loop_ = *sandbox::EventLoop::Create();
  std::unique_ptr<PortListener> listener_ = *PortListener::Listen(0);
  std::vector<UniqueFd> accepted_;
};

TEST_F(PortListenerTest, AcceptsAtBothLoopbackAddresses) {
  const UniqueFd ipv4 = tests::ConnectToLoopback(listener_->port());
  ASSERT_TRUE(ipv4.valid());
  AwaitAccepted(1);
  const UniqueFd ipv6 = tests::ConnectToLoopback(listener_->port(), AF_INET6);
  ASSERT_TRUE(ipv6.valid());
  AwaitAccepted(2);
}

TEST_F(PortListenerTest, GivesSocketsThatNeitherBlockNorAreInherited) {
  const UniqueFd socket = tests::ConnectToLoopback(listener_->port());
  AwaitAccepted(1);
  EXPECT_NE(::fcntl(accepted_[0].get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(accepted_[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(PortListenerTest, CannotBeReachedAtAnotherAddress) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in other = {};
  other.sin_family = AF_INET;
  other.sin_port = htons(listener_->port());
  other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  EXPECT_NE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&other),
                      sizeof(other)),
            0);
}

TEST_F(PortListenerTest, RefusesAPortThatIsInUseAtEitherAddress) {
  const tests::LoopbackListener ipv4 = tests::ListenOnLoopback(AF_INET);
  EXPECT_THAT(PortListener::Listen(ipv4.port).status(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr(absl::StrCat("127.0.0.1:", ipv4.port))));
  const tests::LoopbackListener ipv6 = tests::ListenOnLoopback(AF_INET6);
  EXPECT_THAT(PortListener::Listen(ipv6.port).status(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr(absl::StrCat("[::1]:", ipv6.port))));
}

TEST_F(PortListenerTest, ListensOnThePortThatIsAskedFor) {
  const uint16_t port = tests::UnusedPort();
  const auto listener = PortListener::Listen(port);
  ASSERT_TRUE(listener.ok());
  EXPECT_EQ((*listener)->port(), port);
}

TEST_F(PortListenerTest, TakesAPortAgainWhoseConnectionsHaveJustEnded) {
  const uint16_t port = listener_->port();
  const UniqueFd ipv4 = tests::ConnectToLoopback(port);
  AwaitAccepted(1);
  // The side that closes first keeps the address for a minute.
  accepted_.clear();
  EXPECT_EQ(tests::ReceiveEnd(ipv4.get()), 0);
  listener_.reset();
  EXPECT_TRUE(PortListener::Listen(port).ok());
}

TEST_F(PortListenerTest, LeavesThePortWhenItIsDestroyed) {
  const uint16_t port = listener_->port();
  listener_.reset();
  EXPECT_FALSE(tests::ConnectToLoopback(port).valid());
  EXPECT_FALSE(tests::ConnectToLoopback(port, AF_INET6).valid());
}

TEST_F(PortListenerTest, AcceptsConnectionsThatCameBefore) {
  const auto early = *PortListener::Listen(0);
  const UniqueFd socket = tests::ConnectToLoopback(early->port());
  ASSERT_TRUE(socket.valid());
  early->Accept(loop_.get(), [this](UniqueFd connection) {
    accepted_.push_back(std::move(connection));
  });
  AwaitAccepted(1);
}

TEST_F(PortListenerTest, AcceptsLaterWhatItHasNoDescriptorFor) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  const UniqueFd socket = tests::ConnectToLoopback(listener_->port());
  {
    const tests::NoDescriptors none;
    // Never idle if it tries without a pause.
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
    EXPECT_TRUE(accepted_.empty());
  }
  AwaitAccepted(1);
}

}  // namespace
}  // namespace client

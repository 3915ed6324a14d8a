#include "sandbox/egress/dialer.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/closed_watches.h"
#include "tests/fakes/fake_timers.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using sandbox::UniqueFd;
using tests::Echo;
using tests::UpstreamServer;

// Nobody listens there, on the port of `server_`.
constexpr char kDown[] = "127.0.0.9";
// connect(2) fails at once.
constexpr char kBroadcast[] = "255.255.255.255";

// Answers no attempt to connect to `port` there, because its queue is full.
class SilentServer {
 public:
  static constexpr char kAddress[] = "127.0.0.8";

  explicit SilentServer(uint16_t port) {
    sockaddr_storage name;
    const socklen_t size = IpAddress::Parse(kAddress)->ToSocket(port, &name);
    const auto* const address = reinterpret_cast<const sockaddr*>(&name);
    EXPECT_EQ(::bind(listener_.get(), address, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    EXPECT_EQ(::connect(queued_.get(), address, size), 0);
  }

 private:
  const UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const UniqueFd queued_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

class DialerTest : public ::testing::Test {
 protected:
  // The address that was reached, or "none".
  std::string Dial(const std::vector<std::string>& texts) {
    std::vector<IpAddress> addresses;
    for (const std::string& text : texts) {
      addresses.push_back(*IpAddress::Parse(text));
    }
    std::string reached = "not called";
    Dialer dialer(loop_.get(), &timers_, addresses, server_.port(),
                  [&](UniqueFd socket, const IpAddress& address) {
                    reached = socket.valid() ? address.ToString() : "none";
                    socket_ = std::move(socket);
                    loop_->Stop();
                  });
    dialer.Start();
    loop_->Run();
    return reached;
  }

  // Runs the loop until nothing is ready.
  void Settle() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }

  const std::unique_ptr<sandbox::EventLoop> loop_ =
      *sandbox::EventLoop::Create();
  tests::FakeTimers timers_;
  UpstreamServer server_{Echo};
  UniqueFd socket_;
};

TEST_F(DialerTest, ConnectsToTheFirstAddressThatAnswers) {
  EXPECT_EQ(Dial({kDown, kBroadcast, "127.0.0.1", kDown}), "127.0.0.1");
  EXPECT_NE(::fcntl(socket_.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(socket_.get(), F_GETFD), FD_CLOEXEC);
  sockaddr_storage peer;
  socklen_t size = sizeof(peer);
  EXPECT_EQ(
      ::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &size),
      0);
  // Its loop does not watch the socket any more.
  loop_->Watch(socket_.get(), 0, [](uint32_t) {});
  loop_->Unwatch(socket_.get());
}

TEST_F(DialerTest, ReportsThatNoAddressAnswers) {
  EXPECT_EQ(Dial({kDown, kBroadcast, kDown}), "none");
  EXPECT_EQ(Dial({kDown, kBroadcast}), "none");
  EXPECT_EQ(Dial({}), "none");
  EXPECT_FALSE(socket_.valid());
}

TEST_F(DialerTest, TriesEightAddressesAtMost) {
  std::vector<std::string> addresses(7, kDown);
  addresses.push_back("127.0.0.1");
  EXPECT_EQ(Dial(addresses), "127.0.0.1");
  addresses.insert(addresses.begin(), kBroadcast);
  EXPECT_EQ(Dial(addresses), "none");
}

TEST_F(DialerTest, TriesTheNextAddressAfterALimitedTime) {
  const SilentServer silent(server_.port());
  std::vector<std::string> reached;
  Dialer dialer(
      loop_.get(), &timers_,
      {*IpAddress::Parse(SilentServer::kAddress),
       *IpAddress::Parse(SilentServer::kAddress),
       *IpAddress::Parse("127.0.0.1"), *IpAddress::Parse("127.0.0.1")},
      server_.port(), [&](UniqueFd, const IpAddress& address) {
        reached.push_back(address.ToString());
        loop_->Stop();
      });
  dialer.Start();
  // The loop forgets each attempt that it gives up.
  timers_.Advance(Dialer::kAttemptTime);
  tests::ExpectNoClosedWatch(loop_.get());
  timers_.Advance(Dialer::kAttemptTime - absl::Milliseconds(1));
  Settle();
  EXPECT_EQ(reached, std::vector<std::string>());
  timers_.Advance(absl::Milliseconds(1));
  loop_->Run();
  EXPECT_EQ(reached, std::vector<std::string>{"127.0.0.1"});
  // Nothing follows the first that answers.
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(DialerTest, CallsNobodyWhenItIsDestroyed) {
  {
    Dialer dialer(loop_.get(), &timers_, {*IpAddress::Parse("127.0.0.1")},
                  server_.port(), [](UniqueFd, const IpAddress&) { FAIL(); });
    dialer.Start();
  }
  tests::ExpectNoClosedWatch(loop_.get());
  Settle();
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(DialerTest, MayBeDestroyedByTheCall) {
  std::unique_ptr<Dialer> dialer;
  std::string reached;
  dialer = std::make_unique<Dialer>(
      loop_.get(), &timers_,
      std::vector<IpAddress>{*IpAddress::Parse("127.0.0.1")}, server_.port(),
      [&](UniqueFd socket, const IpAddress& address) {
        dialer.reset();
        reached = socket.valid() ? address.ToString() : "none";
        loop_->Stop();
      });
  dialer->Start();
  loop_->Run();
  EXPECT_EQ(reached, "127.0.0.1");
}

}  // namespace
}  // namespace egress

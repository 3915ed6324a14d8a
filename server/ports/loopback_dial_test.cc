#include "server/ports/loopback_dial.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "tests/network/loopback.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using sandbox::UniqueFd;
using ::tests::IsOk;
using ::tests::StatusIs;

class LoopbackDialTest : public ::testing::Test {
 protected:
  static std::vector<UniqueFd> Sockets() {
    std::vector<UniqueFd> sockets;
    for (const int family : {AF_INET, AF_INET6}) {
      sockets.emplace_back(
          ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    }
    return sockets;
  }
  // Gives an IPv4 socket a port of its own. A connection to it from the socket
  // leads to the socket itself.
  static uint16_t Bind(int socket) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket, name, size), 0);
    ::getsockname(socket, name, &size);
    return ntohs(address.sin_port);
  }
  // Calls `meanwhile` after the dial began.
  absl::StatusOr<UniqueFd> Dial(
      std::vector<UniqueFd> sockets, uint16_t port,
      absl::Duration patience = LoopbackDial::kPatience,
      const std::function<void()>& meanwhile = [] {}) {
    std::optional<absl::StatusOr<UniqueFd>> result;
    LoopbackDial dial(loop_.get(), std::move(sockets), port, patience);
    dial.Begin([&](absl::StatusOr<UniqueFd> socket) {
      EXPECT_FALSE(result.has_value());
      result = std::move(socket);
    });
    meanwhile();
    while (!result.has_value()) {
      loop_->After(absl::Milliseconds(1), [this] { loop_->Stop(); });
      loop_->Run();
    }
    return *std::move(result);
  }

  std::unique_ptr<sandbox::EventLoop> loop_ =
      sandbox::EventLoop::Create().value();
};

TEST_F(LoopbackDialTest, ConnectsToAServerOfEitherFamily) {
  for (const int family : {AF_INET, AF_INET6}) {
    const tests::LoopbackPort port = tests::ReserveLoopbackPort();
    const UniqueFd& server = family == AF_INET ? port.ipv4 : port.ipv6;
    if (!server.valid()) {
      GTEST_SKIP() << "no IPv6 here";
    }
    ASSERT_EQ(::listen(server.get(), 1), 0);
    const absl::StatusOr<UniqueFd> socket = Dial(Sockets(), port.number);
    ASSERT_THAT(socket.status(), IsOk());
    const UniqueFd peer(
        ::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
    tests::Send(peer.get(), "hello");
    ::fcntl(socket->get(), F_SETFL, 0);
    EXPECT_EQ(tests::Receive(socket->get(), 5), "hello");
  }
}

TEST_F(LoopbackDialTest, PrefersTheServerAtTheIpv4Address) {
  const tests::LoopbackPort port = tests::ReserveLoopbackPort();
  if (!port.ipv6.valid()) {
    GTEST_SKIP() << "no IPv6 here";
  }
  ASSERT_EQ(::listen(port.ipv4.get(), 1), 0);
  ASSERT_EQ(::listen(port.ipv6.get(), 1), 0);
  const absl::StatusOr<UniqueFd> socket = Dial(Sockets(), port.number);
  ASSERT_THAT(socket.status(), IsOk());
  int family = 0;
  socklen_t size = sizeof(family);
  ::getsockopt(socket->get(), SOL_SOCKET, SO_DOMAIN, &family, &size);
  EXPECT_EQ(family, AF_INET);
}

TEST_F(LoopbackDialTest, ReportsThatNobodyListens) {
  const tests::LoopbackPort port = tests::ReserveLoopbackPort();
  EXPECT_THAT(Dial(Sockets(), port.number).status(),
              StatusIs(absl::StatusCode::kNotFound, "no server listens"));
}

TEST_F(LoopbackDialTest, ReportsAnotherFailureOfTheFirstSocket) {
  // A socket that listens cannot connect. The other one is refused.
  std::vector<UniqueFd> sockets;
  sockets.push_back(tests::ListenOnLoopback().socket);
  sockets.push_back(std::move(Sockets()[0]));
  const uint16_t port = Bind(sockets[1].get());
  const absl::Status failed = Dial(std::move(sockets), port).status();
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kInternal,
                               ::testing::HasSubstr("connect")));
}

TEST_F(LoopbackDialTest, TakesASocketThatConnectsToItselfForRefused) {
  std::vector<UniqueFd> sockets = Sockets();
  sockets.pop_back();
  const uint16_t port = Bind(sockets[0].get());
  EXPECT_THAT(Dial(std::move(sockets), port).status(),
              StatusIs(absl::StatusCode::kNotFound, "no server listens"));
}

TEST_F(LoopbackDialTest, WaitsForAServerWhoseQueueIsFullButNotForEver) {
  const tests::LoopbackListener server =
      tests::ListenOnLoopback(AF_INET, 0, /*backlog=*/0);
  const UniqueFd first = tests::ConnectToLoopback(server.port);
  EXPECT_THAT(Dial(Sockets(), server.port, absl::Milliseconds(50)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "the server does not accept"));
  EXPECT_EQ(LoopbackDial::kPatience, absl::Seconds(10));
}

TEST_F(LoopbackDialTest, CallsNobodyWhenItIsDestroyed) {
  const tests::LoopbackListener server =
      tests::ListenOnLoopback(AF_INET, 0, /*backlog=*/0);
  const UniqueFd first = tests::ConnectToLoopback(server.port);
  std::vector<UniqueFd> sockets = Sockets();
  // The loop goes on to watch a socket of which a copy is open.
  const UniqueFd copy(::fcntl(sockets[0].get(), F_DUPFD_CLOEXEC, 3));
  {
    LoopbackDial dial(loop_.get(), std::move(sockets), server.port,
                      absl::Milliseconds(1));
    dial.Begin([](const absl::StatusOr<UniqueFd>&) { ADD_FAILURE(); });
  }
  // The socket would be ready now.
  ASSERT_EQ(::shutdown(copy.get(), SHUT_RDWR), 0);
  loop_->After(absl::Milliseconds(20), [this] { loop_->Stop(); });
  loop_->Run();
}

TEST_F(LoopbackDialTest, CallsNobodyAfterItsPatience) {
  const tests::LoopbackListener server =
      tests::ListenOnLoopback(AF_INET, 0, /*backlog=*/0);
  const UniqueFd first = tests::ConnectToLoopback(server.port);
  std::vector<UniqueFd> sockets = Sockets();
  const int socket = sockets[0].get();
  int calls = 0;
  LoopbackDial dial(loop_.get(), std::move(sockets), server.port,
                    absl::Milliseconds(1));
  dial.Begin([&](const absl::StatusOr<UniqueFd>&) {
    ++calls;
    loop_->Stop();
  });
  loop_->Run();
  // The socket would be ready now.
  ASSERT_EQ(::shutdown(socket, SHUT_RDWR), 0);
  loop_->After(absl::Milliseconds(1), [this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

TEST_F(LoopbackDialTest, ConnectsWhenTheServerHasRoomAgain) {
  const tests::LoopbackListener server =
      tests::ListenOnLoopback(AF_INET, 0, /*backlog=*/0);
  const UniqueFd first = tests::ConnectToLoopback(server.port);
  UniqueFd accepted;
  // The kernel tries again after a second.
  const absl::StatusOr<UniqueFd> socket =
      Dial(Sockets(), server.port, absl::Hours(1), [&] {
        accepted.Reset(
            ::accept4(server.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      });
  ASSERT_THAT(socket.status(), IsOk());
  const UniqueFd peer(
      ::accept4(server.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  tests::Send(peer.get(), "hello");
  ::fcntl(socket->get(), F_SETFL, 0);
  EXPECT_EQ(tests::Receive(socket->get(), 5), "hello");
}

TEST_F(LoopbackDialTest, ReportsAServerThatLeavesMeanwhile) {
  const tests::LoopbackPort port = tests::ReserveLoopbackPort();
  ASSERT_EQ(::listen(port.ipv4.get(), /*backlog=*/0), 0);
  const UniqueFd first = tests::ConnectToLoopback(port.number);
  // The socket listens no more, but keeps its port.
  EXPECT_THAT(Dial(Sockets(), port.number, absl::Hours(1),
                   [&] { ::shutdown(port.ipv4.get(), SHUT_RDWR); })
                  .status(),
              StatusIs(absl::StatusCode::kNotFound, "no server listens"));
}

TEST_F(LoopbackDialTest, CallsNobodyASecondTime) {
  const tests::LoopbackListener server = tests::ListenOnLoopback();
  int calls = 0;
  LoopbackDial dial(loop_.get(), Sockets(), server.port, absl::Milliseconds(1));
  dial.Begin([&](const absl::StatusOr<UniqueFd>&) { ++calls; });
  // The patience would be over by then.
  loop_->After(absl::Milliseconds(20), [this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace server

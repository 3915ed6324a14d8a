// One connection in each of its states, until its end.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/reset_on_close.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/connection_state_fixture.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/policy.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/service_exchange.h"
#include "tests/closed_watches.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::Echo;
using ::tests::ReadUntil;
using ::tests::SendAll;
using ::tests::UpstreamServer;

constexpr absl::Duration kMoment = absl::Milliseconds(1);
// A connection that gets no pipe tries again after this time.
constexpr absl::Duration kSoon = absl::Milliseconds(20);

bool SendsAtOnce(int socket) {
  int on = 0;
  socklen_t size = sizeof(on);
  ::getsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, &size);
  return on != 0;
}

// Sends "hello", and then everything back.
void Greet(int socket) {
  SendAll(socket, "hello");
  Echo(socket);
}

TEST_F(ConnectionStateTest, RefusesWhatHasNoAddress) {
  Begin(UniqueFd(::memfd_create("no socket", MFD_CLOEXEC)), 80);
  EXPECT_THAT(events_, ElementsAre("CONNECTION_REFUSED UNKNOWN_ADDRESS  "));
  EXPECT_EQ(ends_, 0) << "not before its start has returned";
  RunUntilEnd();
}

TEST_F(ConnectionStateTest, WaitsForARequestForALimitedTime) {
  Dial(80, wire::Rule::WEB);
  Send("GET / HT");
  Settle();
  EXPECT_TRUE(SendsAtOnce(client_));
  timers_.Advance(Connection::kRequestTime - kMoment);
  EXPECT_THAT(events_, IsEmpty());
  timers_.Advance(kMoment);
  EXPECT_THAT(events_, ElementsAre("CONNECTION_REFUSED NO_REQUEST a.example "));
  Settle();
  EXPECT_EQ(ends_, 1);
  // It watches nothing, though it is there.
  loop_->Watch(client_, 0, [](uint32_t) {});
  loop_->Unwatch(client_);
  connection_.reset();
  char byte;
  EXPECT_EQ(::recv(program_.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(ConnectionStateTest, ReportsAClientThatBreaksOffWithoutARequest) {
  Dial(80, wire::Rule::WEB);
  BreakOff();
  RunUntilEnd();
  EXPECT_THAT(events_, ElementsAre("CONNECTION_REFUSED NO_REQUEST a.example "));
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(ConnectionStateTest, ReadsNothingWhileItLooksForItsHost) {
  const UniqueFd silent(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage name;
  socklen_t size = IpAddress::Parse("127.0.0.1")->ToSocket(0, &name);
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  ASSERT_EQ(::bind(silent.get(), address, size), 0);
  ::getsockname(silent.get(), address, &size);
  resolver_ = *Resolver::Create(
      loop_.get(), loop_.get(),
      {absl::StrCat("127.0.0.1:",
                    ntohs(reinterpret_cast<sockaddr_in*>(address)->sin_port))});
  host_.resolver = resolver_.get();
  Dial(80, wire::Rule::WEB);
  Send("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 4\r\n\r\n");
  AwaitBytes();
  Settle();
  EXPECT_EQ(timers_.size(), 0U) << "the request has come";
  Send("body");
  AwaitBytes();
  Settle();
  EXPECT_THAT(events_, IsEmpty());
  BreakOff();
  RunUntilEnd();
  EXPECT_THAT(events_, ElementsAre("CONNECTION_REFUSED BROKEN a.example "));
  // Its look-up fails when the resolver ends, which changes nothing.
  resolver_.reset();
  EXPECT_EQ(events_.size(), 1U);
}

TEST_F(ConnectionStateTest, MayBeDestroyedBeforeItsHostIsFound) {
  Dial(80, wire::Rule::TCP);
  connection_.reset();
  resolver_.reset();
  tests::ExpectNoClosedWatch(loop_.get());
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(ends_, 0);
}

TEST_F(ConnectionStateTest, ForgetsBothSocketsWhenItIsDestroyed) {
  const UpstreamServer server(Greet);
  DialServer(server);
  EXPECT_TRUE(SendsAtOnce(tests::SocketTo(server.port())));
  connection_.reset();
  resolver_.reset();
  tests::ExpectNoClosedWatch(loop_.get());
  EXPECT_EQ(timers_.size(), 0U);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(ConnectionStateTest, IsIdleAfterFourTicksWithoutAByte) {
  const UpstreamServer server(Greet);
  DialServer(server);
  // The first bytes came before this tick.
  timers_.Advance(kIdle / 4);
  timers_.Advance(kIdle / 4 * 3);
  EXPECT_THAT(events_, IsEmpty());
  Send("x");
  RunUntil([this] { return received_ == "x"; });
  timers_.Advance(kIdle / 4);
  timers_.Advance(kIdle / 4 * 3);
  EXPECT_THAT(events_, IsEmpty());
  timers_.Advance(kIdle / 4 - kMoment);
  EXPECT_THAT(events_, IsEmpty());
  timers_.Advance(kMoment);
  EXPECT_THAT(events_,
              ElementsAre("CONNECTION_ENDED IDLE a.example 127.0.0.1"));
  EXPECT_EQ(timers_.size(), 0U);
  RunUntilEnd();
  connection_.reset();
  RunUntil([this] { return received_ == "x!"; });
}

TEST_F(ConnectionStateTest, EndsAfterItsTotalTimeThoughBytesCome) {
  const UpstreamServer server(Greet);
  DialServer(server);
  std::string all;
  for (absl::Duration at = absl::ZeroDuration(); at < kTotal - kIdle / 2;
       at += kIdle / 2) {
    timers_.Advance(kIdle / 2);
    Send("x");
    all += "x";
    RunUntil([&] { return received_ == all; });
  }
  timers_.Advance(kIdle / 2 - kMoment);
  EXPECT_THAT(events_, IsEmpty());
  timers_.Advance(kMoment);
  EXPECT_THAT(events_,
              ElementsAre("CONNECTION_ENDED TOTAL_TIME a.example 127.0.0.1"));
  EXPECT_EQ(timers_.size(), 0U);
  connection_.reset();
}

TEST_F(ConnectionStateTest, TriesAgainWhenThereIsNoPipe) {
  const UpstreamServer server(Greet);
  DialServer(server);
  Settle();
  Send("x");
  AwaitBytes();
  SettleWithoutPipes();
  EXPECT_EQ(timers_.size(), 3U) << "the limits of time, and the next try";
  timers_.Advance(kSoon - kMoment);
  EXPECT_EQ(timers_.size(), 3U);
  timers_.Advance(kMoment);
  EXPECT_EQ(timers_.size(), 2U);
  RunUntil([this] { return received_ == "x"; });
  connection_.reset();
}

TEST_F(ConnectionStateTest, TriesNoMoreAfterItsEnd) {
  const UpstreamServer server(Greet);
  DialServer(server);
  Settle();
  Send("x");
  AwaitBytes();
  SettleWithoutPipes();
  BreakOff();
  pollfd broken = {client_, 0, 0};
  ASSERT_EQ(::poll(&broken, 1, -1), 1);
  RunUntilEnd();
  EXPECT_EQ(timers_.size(), 0U);
  connection_.reset();
}

TEST_F(ConnectionStateTest, IsBrokenWhenItsUpstreamBreaksOff) {
  const UpstreamServer server([](int socket) {
    SendAll(socket, "hello");
    ReadUntil(socket, "x");
    sandbox::ResetOnClose(socket);
  });
  DialServer(server);
  Send("x");
  RunUntilEnd();
  EXPECT_THAT(events_,
              ElementsAre("CONNECTION_ENDED BROKEN a.example 127.0.0.1"));
  connection_.reset();
  RunUntil([this] { return received_ == "!"; });
}

TEST_F(ConnectionStateTest, PassesBytesOnAfterTheServerHasClosedItsSide) {
  std::string got;
  {
    const UpstreamServer server([&](int socket) {
      SendAll(socket, "hello");
      ::shutdown(socket, SHUT_WR);
      got = ReadUntil(socket, "");
    });
    DialServer(server);
    RunUntil([this] { return received_ == "|"; });
    EXPECT_THAT(events_, IsEmpty());
    Send("late");
    ::shutdown(program_.get(), SHUT_WR);
    RunUntilEnd();
    EXPECT_THAT(events_,
                ElementsAre("CONNECTION_ENDED CLOSED a.example 127.0.0.1"));
    connection_.reset();
  }
  EXPECT_EQ(got, "late");
}

TEST_F(ConnectionStateTest, DiscardsWhatComesAtTheEndOfARefusal) {
  Dial(kServicePort, wire::Rule::WEB, "model.corral.internal");
  Send("x\r\n\r\n");
  RunUntil([this] { return !events_.empty(); });
  EXPECT_THAT(events_,
              ElementsAre("CONNECTION_REFUSED NOT_WEB model.corral.internal "));
  EXPECT_THAT(ReadUntil(program_.get(), ""), HasSubstr("400 Bad Request"));
  Send("more");
  AwaitBytes();
  timers_.Advance(ServiceExchange::kCloseTime);
  RunUntilEnd();
  EXPECT_EQ(timers_.size(), 0U);
  connection_.reset();
  // The answer is not followed by a reset.
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(program_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  EXPECT_EQ(error, 0);
}

}  // namespace
}  // namespace egress

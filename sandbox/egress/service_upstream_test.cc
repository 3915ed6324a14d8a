// An exchange with its upstream: TLS, the bytes in both directions, and its
// end.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/service_exchange.h"
#include "sandbox/egress/service_exchange_fixture.h"
#include "sandbox/egress/tls_context.h"
#include "tests/closed_watches.h"
#include "tests/network/tls_server.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::SocketTo;
using ::tests::TlsConnection;
using ::tests::TlsServer;
using ::tests::UpstreamServer;

constexpr absl::Duration kMoment = absl::Milliseconds(1);
constexpr char kLastAnswer[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

class ServiceUpstreamTest : public ServiceExchangeTest {
 protected:
  ~ServiceUpstreamTest() override { Leave(); }

  // The owner of the connection destroys the exchange.
  void Leave() {
    loop_->Unwatch(client_.get());
    exchange_.reset();
  }
  // Trusts the server, and makes a request to it.
  void Begin(const TlsServer& server, const std::string& fields = "",
             const std::string& begun = "") {
    contexts_["model"] = *TlsContext::Create(server.authority());
    Start(server.port());
    Request(fields, begun);
    Answer("secret");
  }
  void RunUntilBegun() {
    RunUntil([this] { return begun_.load(); });
  }
  // Makes a request to a server that says nothing, and waits for the first
  // bytes of the handshake there.
  void BeginHandshake(const UpstreamServer& silent) {
    const TlsServer other([](TlsConnection&) {});
    contexts_["model"] = *TlsContext::Create(other.authority());
    Start(silent.port());
    Request();
    Answer("secret");
    RunUntilBegun();
  }
  // Says nothing on a connection until the peer ends it: "closed", or "broken"
  // if it was reset.
  void BeSilent(int socket) {
    char bytes[4096];
    ssize_t got = ::recv(socket, bytes, sizeof(bytes), 0);
    begun_ = true;
    while (got > 0) {
      got = ::recv(socket, bytes, sizeof(bytes), 0);
    }
    end_.set_value(got == 0 ? "closed" : "broken");
  }
  // Sends a body of 9 MiB of which nothing waits for anything: buffers are
  // large. The relay has done its first turn then. Returns false if this
  // process may not have such buffers.
  bool SendLargeBody(const TlsServer& server) {
    Begin(server, absl::StrCat("Content-Length: ", kLarge, "\r\n"));
    RunUntilBegun();
    const int buffer = 4 * kLarge;
    for (const int socket : {program_.get(), SocketTo(server.port())}) {
      if (::setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &buffer,
                       sizeof(buffer)) != 0) {
        return false;
      }
    }
    sent_before_ = exchange_->moved();
    Send(std::string(kLarge, 'x'));
    Settle();
    return true;
  }

  static constexpr int kLarge = 9 << 20;

  // Set by the thread of a server.
  std::atomic<bool> begun_{false};
  // How the silent connection ended.
  std::promise<std::string> end_;
  uint64_t sent_before_ = 0;
};

TEST_F(ServiceUpstreamTest, PassesARequestAndItsAnswer) {
  std::string got;
  std::promise<void> go;
  TlsServer server([&](TlsConnection& connection) {
    got = connection.ReadUntil("bo");
    begun_ = true;
    got += connection.ReadUntil("dy");
    begun_ = true;
    go.get_future().wait();
    connection.Send(absl::StrCat(kLastAnswer, "answer"));
  });
  Begin(server, "Content-Length: 4\r\n", "bo");
  RunUntilBegun();
  EXPECT_EQ(timers_.size(), 0U) << "the handshake has a limit, this has none";
  int sends_at_once = 0;
  socklen_t size = sizeof(sends_at_once);
  ::getsockopt(SocketTo(server.port()), IPPROTO_TCP, TCP_NODELAY,
               &sends_at_once, &size);
  EXPECT_NE(sends_at_once, 0);
  begun_ = false;
  Send("dy");
  RunUntilBegun();
  EXPECT_THAT(got, EndsWith("\r\nContent-Length: 4\r\nx-api-key: secret\r\n"
                            "Connection: close\r\n\r\nbody"));
  EXPECT_EQ(exchange_->moved(), got.size());
  EXPECT_THAT(reports_, IsEmpty());
  go.set_value();
  RunUntilEnd();
  const std::string answer = Received();
  EXPECT_EQ(answer, absl::StrCat(kLastAnswer, "answer"));
  EXPECT_THAT(reports_,
              ElementsAre(absl::StrCat("CONNECTION_ENDED CLOSED 127.0.0.1 ",
                                       got.size(), "/", answer.size())));
  EXPECT_THAT(ends_, ElementsAre(false));
  EXPECT_EQ(counted_, got.size() + answer.size());
  EXPECT_EQ(exchange_->moved(), counted_);
  EXPECT_EQ(timers_.size(), 0U);
  // The upstream took the value.
  credentials_->Get("model", [](const absl::StatusOr<std::string>&) {});
  RunUntil([this] { return asked_.size() == 2; });
  EXPECT_THAT(asked_, ElementsAre("model", "model"));
}

TEST_F(ServiceUpstreamTest, HasAValueReadAgainThatTheUpstreamRefuses) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send("HTTP/1.1 401 Unauthorized\r\n\r\n");
  });
  Begin(server);
  RunUntilEnd();
  credentials_->Get("model", [](const absl::StatusOr<std::string>&) {});
  RunUntil([this] { return asked_.size() == 2; });
  EXPECT_THAT(asked_, ElementsAre("model", "model refused"));
}

TEST_F(ServiceUpstreamTest, WaitsForTheHandshakeForALimitedTime) {
  const UpstreamServer silent([this](int socket) { BeSilent(socket); });
  BeginHandshake(silent);
  timers_.Advance(ServiceExchange::kRequestTime - kMoment);
  EXPECT_THAT(reports_, IsEmpty());
  timers_.Advance(kMoment);
  EXPECT_THAT(reports_,
              ElementsAre("CONNECTION_REFUSED UPSTREAM_UNREACHABLE 127.0.0.1"));
  EXPECT_THAT(Received(), EndsWith("its upstream does not answer\n"));
  program_.Reset();
  RunUntilEnd();
  EXPECT_THAT(ends_, ElementsAre(false));
  EXPECT_EQ(reports_.size(), 1U);
  Leave();
  EXPECT_EQ(end_.get_future().get(), "closed");
}

TEST_F(ServiceUpstreamTest, BreaksOffWhenTheProgramLeavesDuringTheHandshake) {
  const UpstreamServer silent([this](int socket) { BeSilent(socket); });
  BeginHandshake(silent);
  exchange_->OnClient(EPOLLIN);
  EXPECT_THAT(reports_, IsEmpty());
  program_.Reset();
  RunUntilEnd();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED BROKEN 127.0.0.1"));
  EXPECT_THAT(ends_, ElementsAre(true));
  EXPECT_EQ(timers_.size(), 0U);
  Leave();
  EXPECT_EQ(end_.get_future().get(), "broken");
}

TEST_F(ServiceUpstreamTest, ForgetsItsUpstreamWhenItIsDestroyed) {
  const UpstreamServer silent([this](int socket) { BeSilent(socket); });
  BeginHandshake(silent);
  Leave();
  tests::ExpectNoClosedWatch(loop_.get());
  EXPECT_EQ(timers_.size(), 0U);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(ServiceUpstreamTest, TrustsNoUpstreamWithoutAuthorities) {
  const UpstreamServer silent([this](int socket) { BeSilent(socket); });
  contexts_["other"] = nullptr;
  Start(silent.port());
  Request();
  Answer("secret");
  RunUntilReport();
  EXPECT_THAT(reports_,
              ElementsAre("CONNECTION_REFUSED UPSTREAM_NOT_TRUSTED 127.0.0.1"));
  EXPECT_THAT(Received(),
              EndsWith("the server has no authorities for its upstream\n"));
  EXPECT_EQ(end_.get_future().get(), "closed");
}

TEST_F(ServiceUpstreamTest, TrustsNoUpstreamWhoseAuthoritiesAreUnusable) {
  const UpstreamServer silent([this](int socket) { BeSilent(socket); });
  contexts_["model"] = nullptr;
  Start(silent.port());
  Request();
  Answer("secret");
  RunUntilReport();
  EXPECT_THAT(reports_,
              ElementsAre("CONNECTION_REFUSED UPSTREAM_NOT_TRUSTED 127.0.0.1"));
}

TEST_F(ServiceUpstreamTest, TrustsNoOtherAuthority) {
  TlsServer server([](TlsConnection&) {});
  const TlsServer other([](TlsConnection&) {});
  contexts_["model"] = *TlsContext::Create(other.authority());
  Start(server.port());
  Request();
  Answer("secret");
  RunUntilReport();
  EXPECT_THAT(reports_,
              ElementsAre("CONNECTION_REFUSED UPSTREAM_NOT_TRUSTED 127.0.0.1"));
  EXPECT_THAT(Received(), HasSubstr("its upstream is not trusted: its "
                                    "certificate is not valid"));
  EXPECT_EQ(timers_.size(), 1U) << "until the program has closed";
}

TEST_F(ServiceUpstreamTest, EndsAtTheLimitOfBytes) {
  TlsServer server([](TlsConnection& connection) { connection.ReadUntil(""); });
  allowed_ = false;
  Begin(server);
  RunUntilEnd();
  EXPECT_THAT(reports_,
              ElementsAre(absl::StrCat("CONNECTION_ENDED BYTE_LIMIT 127.0.0.1 ",
                                       exchange_->moved(), "/0")));
  EXPECT_THAT(ends_, ElementsAre(true));
  Leave();
}

TEST_F(ServiceUpstreamTest, IsBrokenWhenItsUpstreamBreaksOff) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send(kLastAnswer);
    connection.Cut();
  });
  Begin(server);
  RunUntilEnd();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_THAT(reports_[0], HasSubstr("CONNECTION_ENDED BROKEN 127.0.0.1 "));
  EXPECT_THAT(ends_, ElementsAre(true));
}

TEST_F(ServiceUpstreamTest, GivesWayToOthersInALargeBody) {
  std::promise<void> go;
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    begun_ = true;
    go.get_future().wait();
  });
  if (!SendLargeBody(server)) {
    go.set_value();
    Leave();
    GTEST_SKIP() << "large buffers need privileges";
  }
  EXPECT_EQ(timers_.size(), 1U) << "its next turn";
  EXPECT_LT(exchange_->moved(), kLarge);
  timers_.Advance(absl::ZeroDuration());
  EXPECT_EQ(exchange_->moved(), sent_before_ + kLarge);
  EXPECT_EQ(timers_.size(), 0U);
  go.set_value();
  Leave();
}

TEST_F(ServiceUpstreamTest, TakesNoTurnAfterItsEnd) {
  std::promise<void> go;
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    begun_ = true;
    go.get_future().wait();
  });
  if (!SendLargeBody(server)) {
    go.set_value();
    Leave();
    GTEST_SKIP() << "large buffers need privileges";
  }
  exchange_->Expire(Event::IDLE);
  EXPECT_THAT(reports_,
              ElementsAre(absl::StrCat("CONNECTION_ENDED IDLE 127.0.0.1 ",
                                       exchange_->moved(), "/0")));
  EXPECT_THAT(ends_, ElementsAre(true));
  EXPECT_EQ(timers_.size(), 0U);
  go.set_value();
  Leave();
}

}  // namespace
}  // namespace egress

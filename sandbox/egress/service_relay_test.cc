// A request and its answer, between a client and a real server of TLS.

#include "sandbox/egress/service_relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/http_request.h"
#include "sandbox/egress/tls_context.h"
#include "sandbox/egress/tls_stream.h"
#include "tests/network/tls_server.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::tests::ReadUntil;
using ::tests::SendAll;
using ::tests::TlsConnection;
using ::tests::TlsServer;
using State = ServiceRelay::State;

constexpr absl::string_view kGet =
    "GET / HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n";
constexpr absl::string_view kPost =
    "POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 4\r\n\r\n";
constexpr absl::string_view kPostInChunks =
    "POST / HTTP/1.1\r\nHost: api.example\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";
constexpr absl::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

class ServiceRelayTest : public ::testing::Test {
 protected:
  // Begins to relay the request with this head to the server.
  void Begin(const TlsServer& server, absl::string_view head,
             absl::string_view begun = "") {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_.Reset(ends[0]);
    relayed_.Reset(ends[1]);
    upstream_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(upstream_.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0);
    ::fcntl(relayed_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(upstream_.get(), F_SETFL, O_NONBLOCK);
    context_ = *TlsContext::Create(server.authority());
    stream_ =
        std::make_unique<TlsStream>(*context_, upstream_.get(), "api.example");
    TlsStream::Result shaken;
    while ((shaken = stream_->Handshake()) == TlsStream::Result::kWait) {
      Await();
    }
    ASSERT_EQ(shaken, TlsStream::Result::kDone);
    const HttpRequest request = ParseHttpRequest(head);
    ASSERT_EQ(request.state, HttpRequest::State::kComplete);
    relay_ = std::make_unique<ServiceRelay>(relayed_.get(), stream_.get(),
                                            request, std::string(head), begun);
  }
  // Waits until a side has sent something.
  void Await() {
    pollfd ready[] = {{upstream_.get(), POLLIN, 0},
                      {relayed_.get(), POLLIN, 0}};
    ::poll(ready, relay_ == nullptr ? 1 : 2, -1);
  }
  // Relays to the end.
  State Run() {
    int turns = 0;
    while (relay_->state() == State::kOpen && turns < 1000) {
      if (relay_->Move(1 << 20)) {
        ++turns;
      } else if (relay_->state() == State::kOpen) {
        Await();
      }
    }
    return relay_->state();
  }

  UniqueFd client_;
  UniqueFd relayed_;
  UniqueFd upstream_;
  std::unique_ptr<TlsContext> context_;
  std::unique_ptr<TlsStream> stream_;
  std::unique_ptr<ServiceRelay> relay_;
};

TEST_F(ServiceRelayTest, PassesARequestAndItsAnswer) {
  std::string got;
  {
    TlsServer server([&](TlsConnection& connection) {
      got = connection.ReadUntil("body");
      connection.Send(kAnswer);
      connection.Send("first");
      connection.Send("second");
    });
    Begin(server, kPost, "bo");
    EXPECT_EQ(relay_->status(), 0);
    // Bytes after the body go nowhere.
    ASSERT_TRUE(SendAll(client_.get(), "dymore"));
    EXPECT_EQ(Run(), State::kEnded);
  }
  EXPECT_EQ(got, std::string(kPost) + "body");
  EXPECT_EQ(relay_->status(), 200);
  EXPECT_EQ(relay_->sent(), got.size());
  // The answer has ended for the client, too.
  const std::string answer = ReadUntil(client_.get(), "");
  EXPECT_EQ(answer, std::string(kAnswer) + "firstsecond");
  EXPECT_EQ(relay_->received(), answer.size());
}

TEST_F(ServiceRelayTest, EndsTheRequestOfAClientThatHasClosedItsSide) {
  std::string got;
  {
    TlsServer server([&](TlsConnection& connection) {
      got = connection.ReadUntil("");
      connection.Send(kAnswer);
    });
    Begin(server, kGet);
    ::shutdown(client_.get(), SHUT_WR);
    EXPECT_EQ(Run(), State::kEnded);
  }
  EXPECT_EQ(got, kGet);
  EXPECT_EQ(ReadUntil(client_.get(), ""), kAnswer);
}

TEST_F(ServiceRelayTest, BreaksWhenTheClientLeavesWithinItsBody) {
  TlsServer server([](TlsConnection& connection) { connection.ReadUntil(""); });
  Begin(server, kPost, "bo");
  ::shutdown(client_.get(), SHUT_WR);
  EXPECT_EQ(Run(), State::kBroken);
  upstream_.Reset();
}

TEST_F(ServiceRelayTest, BreaksWhenTheClientDoesNotWaitForItsAnswer) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("");
    connection.Send(kAnswer);
  });
  Begin(server, kGet);
  client_.Reset();
  EXPECT_EQ(Run(), State::kBroken);
  EXPECT_EQ(relay_->received(), 0U);
}

TEST_F(ServiceRelayTest, BreaksWhenTheClientBreaksOff) {
  bool ended = true;
  {
    TlsServer server([&](TlsConnection& connection) {
      connection.ReadUntil("\r\n\r\n");
      connection.Send(kAnswer);
      connection.ReadUntil("");
      ended = connection.ended();
    });
    Begin(server, kGet);
    relay_->Move(1 << 20);
    while (relay_->received() == 0) {
      Await();
      relay_->Move(1 << 20);
    }
    // It has not read the answer.
    client_.Reset();
    EXPECT_EQ(Run(), State::kBroken);
    upstream_.Reset();
  }
  EXPECT_FALSE(ended) << "the upstream must not take it for the end";
}

TEST_F(ServiceRelayTest, PassesAHeadThatTheUpstreamDoesNotComplete) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send("HTTP/1.1 200 OK\r\nA: b");
  });
  Begin(server, kGet);
  EXPECT_EQ(Run(), State::kEnded);
  EXPECT_EQ(ReadUntil(client_.get(), ""), "HTTP/1.1 200 OK\r\nA: b");
}

TEST_F(ServiceRelayTest, BreaksWhenTheUpstreamBreaksOff) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send(kAnswer);
    connection.Cut();
  });
  Begin(server, kGet);
  EXPECT_EQ(Run(), State::kBroken);
  EXPECT_EQ(relay_->status(), 200);
}

TEST_F(ServiceRelayTest, BreaksAtAMalformedBody) {
  TlsServer server([](TlsConnection& connection) { connection.ReadUntil(""); });
  Begin(server, kPostInChunks, "x");
  EXPECT_EQ(Run(), State::kBroken);
  upstream_.Reset();
}

TEST_F(ServiceRelayTest, GivesOthersTheirTurnAfterItsBudget) {
  TlsServer server([](TlsConnection& connection) { connection.ReadUntil(""); });
  Begin(server, kGet);
  EXPECT_TRUE(relay_->Move(1));
  EXPECT_EQ(relay_->sent(), kGet.size());
  EXPECT_FALSE(relay_->Move(1));
  EXPECT_EQ(relay_->state(), State::kOpen);
  upstream_.Reset();
}

}  // namespace
}  // namespace egress

// How connections through the way out begin and end.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/proxy_fixture.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::tests::Echo;
using ::tests::ReadUntil;
using ::tests::SendAll;
using ::tests::UpstreamServer;
using Rule = ::corral::egress::v1::Rule;

using ConnectionTest = ProxyTest;

// Makes close(2) send a RST.
void ResetOnClose(const UniqueFd& socket) {
  const linger at_once = {1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

TEST_P(ConnectionTest, RefusesConnectionsAboveTheLimit) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  start_.mutable_policy()->mutable_limits()->set_connections(2);
  Start();
  const UniqueFd first = Dial("a.example", server.port());
  const UniqueFd second = Dial("a.example", server.port());
  EXPECT_EQ(Exchange("a.example", server.port(), ""), "RST");
  const Event event = NextEvent();
  EXPECT_EQ(event.kind(), Event::CONNECTION_REFUSED);
  EXPECT_EQ(event.reason(), Event::TOO_MANY_CONNECTIONS);
  EXPECT_EQ(event.port(), server.port());
}

TEST_P(ConnectionTest, EndsConnectionsAtTheLimitsOfTimeAndBytes) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  auto* const limits = start_.mutable_policy()->mutable_limits();
  limits->set_idle_ns(40'000'000);
  limits->set_bytes(1000);
  Start();
  EXPECT_EQ(Exchange("a.example", server.port(), "x"), "xRST");
  EXPECT_EQ(NextEvent().reason(), Event::IDLE);
  limits->set_idle_ns(0);
  limits->set_total_ns(50'000'000);
  Restart();
  EXPECT_EQ(Exchange("a.example", server.port(), "x"), "xRST");
  EXPECT_EQ(NextEvent().reason(), Event::TOTAL_TIME);
  limits->set_total_ns(0);
  Restart();
  EXPECT_THAT(Exchange("a.example", server.port(), std::string(2000, 'x')),
              HasSubstr("RST"));
  EXPECT_EQ(NextEvent().reason(), Event::BYTE_LIMIT);
}

TEST_P(ConnectionTest, HoldsASenderBackWhoseReceiverIsSlow) {
  UpstreamServer server([](int socket) {
    // Reads nothing until the peer has closed its side.
    const std::string all = ReadUntil(socket, "\n");
    SendAll(socket, absl::StrCat(all.size()));
  });
  Serve("a.example", server, Rule::TCP);
  Start();
  const UniqueFd socket = Dial("a.example", server.port());
  const std::string bytes = std::string(64 << 20, 'x') + "\n";
  ASSERT_TRUE(SendAll(socket.get(), bytes));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(ReadUntil(socket.get(), ""), absl::StrCat(bytes.size()));
}

TEST_P(ConnectionTest, TriesSeveralAddressesOfAThousand) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  std::vector<std::string> addresses(1000, "127.0.0.2");
  // Refused at once; then the one that listens.
  server_.Set("b.example", {"127.0.0.2", "10.0.0.1", "127.0.0.1"});
  Allow("*.example", server.port(), Rule::TCP);
  for (int i = 0; i < 1000; ++i) {
    addresses[i] = absl::StrCat("10.0.", i / 250, ".", i % 250);
  }
  addresses[20] = "127.0.0.1";
  server_.Set("a.example", addresses);
  Start();
  for (const char* name : {"a.example", "b.example"}) {
    const UniqueFd socket = Dial(name, server.port());
    ASSERT_TRUE(SendAll(socket.get(), "hello"));
    EXPECT_EQ(ReadUntil(socket.get(), "hello"), "hello");
  }
}

TEST_P(ConnectionTest, ReportsNamesThatDoNotExistAndServersThatAreDown) {
  uint16_t port;
  {
    const UpstreamServer server(Echo);
    port = server.port();
  }
  Allow("*.example", port, Rule::TCP);
  server_.Set("down.example", {"127.0.0.1"});
  Start();
  EXPECT_EQ(Exchange("nothing.example", port, ""), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::NAME_NOT_FOUND);
  EXPECT_EQ(Exchange("down.example", port, ""), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::UPSTREAM_UNREACHABLE);
}

TEST_P(ConnectionTest, ChecksTheAddressesOfEveryConnection) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  Start();
  Dial("a.example", server.port());
  EXPECT_EQ(NextEvent().kind(), Event::CONNECTION_ENDED);
  server_.Set("a.example", {"127.0.0.2"});
  EXPECT_EQ(Exchange("a.example", server.port(), ""), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::ADDRESS_NOT_ALLOWED);
}

TEST_P(ConnectionTest, PassesAnyBytesWhereTheRuleSaysSo) {
  UpstreamServer server([](int socket) {
    SendAll(socket, "SSH-2.0-server\r\n");
    Echo(socket);
  });
  Serve("git.example", server, Rule::TCP);
  Start();
  const UniqueFd socket = Dial("git.example", server.port());
  EXPECT_EQ(ReadUntil(socket.get(), "\n"), "SSH-2.0-server\r\n");
  ASSERT_TRUE(SendAll(socket.get(), "hello"));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(ReadUntil(socket.get(), ""), "hello");
}

TEST_P(ConnectionTest, MovesAsManyBytesAsTheLimitAllowsAndNoMore) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  start_.mutable_policy()->mutable_limits()->set_bytes(1000);
  Start();
  {
    const UniqueFd socket = Dial("a.example", server.port());
    ASSERT_TRUE(SendAll(socket.get(), std::string(500, 'x')));
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(ReadUntil(socket.get(), ""), std::string(500, 'x'));
  }
  Event event = NextEvent();
  EXPECT_EQ(event.reason(), Event::CLOSED);
  EXPECT_EQ(event.sent_bytes(), 500U);
  EXPECT_EQ(event.received_bytes(), 500U);
  // All connections together have the limit.
  EXPECT_THAT(Exchange("a.example", server.port(), "y"), HasSubstr("RST"));
  EXPECT_EQ(NextEvent().reason(), Event::BYTE_LIMIT);
}

TEST_P(ConnectionTest, MakesRoomWhenAConnectionEnds) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  start_.mutable_policy()->mutable_limits()->set_connections(1);
  Start();
  for (int i = 0; i < 2; ++i) {
    UniqueFd socket = Dial("a.example", server.port());
    ASSERT_TRUE(SendAll(socket.get(), "hello"));
    EXPECT_EQ(ReadUntil(socket.get(), "hello"), "hello");
    socket.Reset();
    EXPECT_EQ(NextEvent().reason(), Event::CLOSED);
  }
}

TEST_P(ConnectionTest, WaitsForTheRestOfAHead) {
  UpstreamServer server(
      [](int socket) { SendAll(socket, ReadUntil(socket, "\r\n\r\n")); });
  Serve("a.example", server);
  Start();
  const UniqueFd socket = Dial("a.example", server.port());
  const std::string head = "GET / HTTP/1.0\r\nHost: a.example\r\n";
  for (const char byte : head) {
    ASSERT_TRUE(SendAll(socket.get(), {&byte, 1}));
  }
  ASSERT_TRUE(SendAll(socket.get(), "\r\n"));
  EXPECT_EQ(ReadUntil(socket.get(), "\r\n\r\n"),
            head + "Connection: close\r\n\r\n");
}

TEST_P(ConnectionTest, ReportsAClientThatLeavesWithoutARequest) {
  UpstreamServer server(Echo);
  Serve("a.example", server);
  Start();
  const UniqueFd socket = Dial("a.example", server.port());
  ::shutdown(socket.get(), SHUT_WR);
  char byte;
  EXPECT_EQ(::recv(socket.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  const Event event = NextEvent();
  EXPECT_EQ(event.kind(), Event::CONNECTION_REFUSED);
  EXPECT_EQ(event.reason(), Event::NO_REQUEST);
  EXPECT_EQ(event.port(), server.port());
}

TEST_P(ConnectionTest, ReportsAClientThatLeavesBeforeItsHostIsFound) {
  UniqueFd silent(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&name), size), 0);
  ::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&name), &size);
  start_.set_name_servers(0, absl::StrCat("127.0.0.1:", ntohs(name.sin_port)));
  Allow("a.example", 80, Rule::TCP);
  Start();
  UniqueFd socket = Dial("a.example", 80);
  char question[512];
  EXPECT_GT(::recv(silent.get(), question, sizeof(question), 0), 0);
  ResetOnClose(socket);
  socket.Reset();
  const Event event = NextEvent();
  EXPECT_EQ(event.kind(), Event::CONNECTION_REFUSED);
  EXPECT_EQ(event.reason(), Event::BROKEN);
}

TEST_P(ConnectionTest, PassesABrokenConnectionOn) {
  std::string end;
  auto server = std::make_unique<UpstreamServer>([&](int socket) {
    ReadUntil(socket, "hello");
    SendAll(socket, "hello");
    char byte;
    end = ::recv(socket, &byte, 1, 0) < 0 ? "broken" : "closed";
  });
  Serve("a.example", *server, Rule::TCP);
  Start();
  UniqueFd socket = Dial("a.example", server->port());
  ASSERT_TRUE(SendAll(socket.get(), "hello"));
  EXPECT_EQ(ReadUntil(socket.get(), "hello"), "hello");
  ResetOnClose(socket);
  socket.Reset();
  const Event event = NextEvent();
  EXPECT_EQ(event.kind(), Event::CONNECTION_ENDED);
  EXPECT_EQ(event.reason(), Event::BROKEN);
  server.reset();
  EXPECT_EQ(end, "broken");
}

INSTANTIATE_TEST_SUITE_P(Runs, ConnectionTest,
                         ::testing::Values(RunsAs::kThread, RunsAs::kProgram),
                         NameOf);

}  // namespace
}  // namespace egress

// The program as it is, with real sockets in namespaces.

#include "sandbox/egress/egress_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/egress_fixture.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::Echo;
using ::tests::ReadUntil;
using ::tests::SendAll;
using ::tests::UpstreamServer;
using Rule = ::corral::egress::v1::Rule;

constexpr absl::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

using EgressProcessTest = EgressTest;

TEST_F(EgressProcessTest, PassesHttpToTheHostThatIsNamed) {
  std::string head;
  UpstreamServer server([&](int socket) {
    head = ReadUntil(socket, "\r\n\r\n");
    SendAll(socket, kAnswer);
  });
  Serve("api.example", server);
  Start();
  EXPECT_EQ(Exchange("api.example", server.port(),
                     "GET /x HTTP/1.1\r\nHost: API.example\r\n"
                     "Connection: keep-alive\r\n\r\n"),
            kAnswer);
  EXPECT_EQ(
      head,
      "GET /x HTTP/1.1\r\nHost: API.example\r\nConnection: close\r\n\r\n");
  const Event event = NextEvent();
  EXPECT_EQ(event.kind(), Event::CONNECTION_ENDED);
  EXPECT_EQ(event.reason(), Event::CLOSED);
  EXPECT_EQ(event.host(), "api.example");
  EXPECT_EQ(event.port(), server.port());
  EXPECT_EQ(event.upstream(), "127.0.0.1");
  EXPECT_EQ(event.sent_bytes(), head.size());
  EXPECT_EQ(event.received_bytes(), kAnswer.size());
  EXPECT_GT(event.duration_ns(), 0);
}

TEST_F(EgressProcessTest, PassesTheBodyOfARequestAndNoSecondRequest) {
  std::string all;
  UpstreamServer server([&](int socket) {
    all = ReadUntil(socket, "body!");
    SendAll(socket, kAnswer);
  });
  Serve("api.example", server);
  Start();
  EXPECT_EQ(Exchange("api.example", server.port(),
                     "POST / HTTP/1.1\r\nHost: api.example\r\n"
                     "Content-Length: 5\r\n\r\nbody!"
                     "GET /other HTTP/1.1\r\nHost: other.example\r\n\r\n"),
            kAnswer);
  EXPECT_THAT(all, HasSubstr("\r\n\r\nbody!"));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("other.example")));
}

TEST_F(EgressProcessTest, PassesTlsWhoseServerNameIsTheHost) {
  UpstreamServer server(Echo);
  Serve("api.example", server);
  Start();
  const std::string hello = MakeClientHello("api.example");
  const UniqueFd socket = Dial("api.example", server.port());
  ASSERT_TRUE(SendAll(socket.get(), hello + "the rest"));
  EXPECT_EQ(ReadUntil(socket.get(), "the rest"), hello + "the rest");
}

TEST_F(EgressProcessTest, RefusesWhatIsNotMeantForTheHost) {
  UpstreamServer server(Echo);
  Serve("api.example", server);
  Start();
  const struct {
    std::string bytes;
    Event::Reason reason;
    std::string claimed;
  } cases[] = {
      {MakeClientHello("evil.example"), Event::SERVER_NAME_DIFFERS,
       "evil.example"},
      {MakeClientHello(""), Event::NO_SERVER_NAME, ""},
      {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", Event::HOST_DIFFERS,
       "evil.example"},
      {"GET / HTTP/1.1\r\n\r\n", Event::HOST_DIFFERS, ""},
      {"GET http://evil.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
       Event::HOST_DIFFERS, "http://evil.example/"},
      {"CONNECT evil.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n",
       Event::HOST_DIFFERS, "evil.example:443"},
      {"SSH-2.0-OpenSSH_9.2\r\n", Event::NOT_WEB, ""},
      {"\x05\x01", Event::NOT_WEB, ""},
  };
  for (const auto& [bytes, reason, claimed] : cases) {
    // Repeated refusals are reported once.
    Restart();
    EXPECT_EQ(Exchange("api.example", server.port(), bytes), "RST") << bytes;
    const Event event = NextEvent();
    EXPECT_EQ(event.kind(), Event::CONNECTION_REFUSED);
    EXPECT_EQ(event.reason(), reason) << bytes;
    EXPECT_EQ(event.host(), "api.example");
    EXPECT_EQ(event.claimed(), claimed);
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(EgressProcessTest, RefusesTenMegabytesOfHeaders) {
  UpstreamServer server(Echo);
  Serve("api.example", server);
  Start();
  EXPECT_EQ(Exchange("api.example", server.port(),
                     "GET / HTTP/1.1\r\nHost: api.example\r\nX: " +
                         std::string(10 << 20, 'x')),
            "RST");
  EXPECT_EQ(NextEvent().reason(), Event::NOT_WEB);
}

TEST_F(EgressProcessTest, PassesAnyBytesWhereTheRuleSaysSo) {
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

TEST_F(EgressProcessTest, LooksUpNothingOutsideUntilSomebodyConnects) {
  UpstreamServer server(Echo);
  Serve("*.example", server, Rule::TCP);
  server_.Set("a.example", {"127.0.0.1"});
  Start();
  EXPECT_EQ(Lookup("a.example"), "198.18.0.1");
  EXPECT_EQ(Lookup("secret-data.example"), "198.18.0.2");
  EXPECT_EQ(Lookup("evil.com"), "");
  EXPECT_EQ(NextEvent().host(), "evil.com");
  EXPECT_THAT(server_.Questions(), IsEmpty());
  Dial("a.example", server.port());
  EXPECT_EQ(NextEvent().kind(), Event::CONNECTION_ENDED);
  EXPECT_THAT(server_.Questions(), ::testing::Each("a.example"));
}

TEST_F(EgressProcessTest, AnswersOtherTypesOfAnAllowedNameWithoutData) {
  Allow("a.example", 443);
  Start();
  for (const uint16_t type : {2, 5, 15, 16, 33, 65, 255}) {
    const std::string answer = Ask(MakeDnsQuery("a.example", type));
    ASSERT_GE(answer.size(), 12U);
    EXPECT_EQ(answer[3] & 0xf, 0) << type;
    EXPECT_EQ(answer[7], 0) << type;
  }
  EXPECT_EQ(Ask(MakeDnsQuery("evil.com", 16))[3] & 0xf, 5);
}

TEST_F(EgressProcessTest, RefusesNamesThatLeadToAddressesWhichAreNotPublic) {
  UpstreamServer server(Echo, "127.0.0.2");
  Allow("*.example", server.port(), Rule::TCP);
  Start();
  for (const char* address : {"127.0.0.2", "169.254.169.254", "10.0.0.1", "::1",
                              "::ffff:127.0.0.2", "64:ff9b::7f00:2"}) {
    const std::string name =
        absl::StrCat("n", server_.Questions().size(), ".example");
    server_.Set(name, {address});
    EXPECT_EQ(Exchange(name, server.port(), ""), "RST") << address;
    const Event event = NextEvent();
    EXPECT_EQ(event.reason(), Event::ADDRESS_NOT_ALLOWED);
    EXPECT_EQ(event.upstream(), address);
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(EgressProcessTest, ChecksTheAddressesOfEveryConnection) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  Start();
  Dial("a.example", server.port());
  EXPECT_EQ(NextEvent().kind(), Event::CONNECTION_ENDED);
  server_.Set("a.example", {"127.0.0.2"});
  EXPECT_EQ(Exchange("a.example", server.port(), ""), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::ADDRESS_NOT_ALLOWED);
}

TEST_F(EgressProcessTest, TriesSeveralAddressesOfAThousand) {
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

TEST_F(EgressProcessTest, ReportsNamesThatDoNotExistAndServersThatAreDown) {
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

TEST_F(EgressProcessTest, RefusesAddressesOfNoNameAndOtherPortsOfAName) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  Allow("b.example", 22, Rule::TCP);
  Start();
  EXPECT_EQ(Exchange("198.18.0.77", server.port(), ""), "RST");
  Event event = NextEvent();
  EXPECT_EQ(event.reason(), Event::UNKNOWN_ADDRESS);
  EXPECT_EQ(event.host(), "198.18.0.77");
  EXPECT_EQ(Exchange("127.0.0.1", server.port(), ""), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::UNKNOWN_ADDRESS);
  EXPECT_EQ(Exchange("a.example", 22, ""), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::PORT_NOT_ALLOWED);
  EXPECT_FALSE(Dial("a.example", 23).valid());
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_FALSE(Dial("8.8.8.8", server.port()).valid());
  EXPECT_EQ(errno, ENETUNREACH);
}

TEST_F(EgressProcessTest, GivesNamesIpv6AddressesIfTheSandboxHasThem) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  Start();
  if (!inner_.description.ipv6()) {
    GTEST_SKIP() << "this kernel has no IPv6";
  }
  const std::string address = Lookup("a.example", 28);
  EXPECT_EQ(address, "fdc0:11a1::1");
  const UniqueFd socket = Dial(address, server.port());
  ASSERT_TRUE(SendAll(socket.get(), "hello"));
  EXPECT_EQ(ReadUntil(socket.get(), "hello"), "hello");
}

TEST_F(EgressProcessTest, AnswersDnsOverTcp) {
  Allow("a.example", 443);
  Start();
  const UniqueFd socket = Dial("127.0.0.53", 53);
  const std::string query = MakeDnsQuery("a.example", 1);
  const std::string message =
      std::string(1, '\0') + static_cast<char>(query.size()) + query;
  // Two questions, the second one in two parts.
  ASSERT_TRUE(SendAll(socket.get(), message + message.substr(0, 10)));
  const std::string address("\xc6\x12\0\1", 4);
  const std::string first = ReadUntil(socket.get(), address);
  EXPECT_EQ(first.size(), query.size() + 2 + 16);
  ASSERT_TRUE(SendAll(socket.get(), message.substr(10)));
  EXPECT_EQ(ReadUntil(socket.get(), address), first);
}

TEST_F(EgressProcessTest, KeepsAddressesOfNamesWhenItIsRestarted) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  Start();
  const std::string address = Lookup("a.example");
  const UniqueFd before = Dial(address, server.port());
  ASSERT_TRUE(SendAll(before.get(), "hello"));
  EXPECT_EQ(ReadUntil(before.get(), "hello"), "hello");
  Restart();
  // Broken connections show.
  char byte;
  EXPECT_LE(::recv(before.get(), &byte, 1, 0), 0);
  const UniqueFd after = Dial(address, server.port());
  ASSERT_TRUE(SendAll(after.get(), "hello"));
  EXPECT_EQ(ReadUntil(after.get(), "hello"), "hello");
}

TEST_F(EgressProcessTest, EndsWhenItsSupervisorCloses) {
  Allow("a.example", 443);
  Start();
  EXPECT_EQ(Lookup("a.example"), "198.18.0.1");
  process_.socket.Reset();
  int status = 0;
  EXPECT_EQ(::waitpid(process_.pid, &status, 0), process_.pid);
  EXPECT_EQ(status, 0);
  process_.pid = 0;
}

TEST_F(EgressProcessTest, HasNoPrivilegesAndAFilter) {
  Allow("a.example", 443);
  Start();
  Lookup("a.example");
  EXPECT_EQ(Status("Uid"), "65533\t65533\t65533\t65533");
  EXPECT_EQ(Status("Groups"), " ");
  EXPECT_EQ(Status("CapPrm"), "0000000000000000");
  EXPECT_EQ(Status("NoNewPrivs"), "1");
  EXPECT_EQ(Status("Seccomp"), "2");
}

}  // namespace
}  // namespace egress

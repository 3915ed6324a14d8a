// The bytes that the way out passes and those that it refuses, with real
// sockets in namespaces.

#include "sandbox/egress/proxy.h"

#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/packets.h"
#include "sandbox/egress/proxy_fixture.h"
#include "sandbox/egress/tls_messages.h"
#include "tests/network/dns_query.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::Echo;
using ::tests::MakeDnsQuery;
using ::tests::ReadUntil;
using ::tests::SendAll;
using ::tests::UpstreamServer;
using Rule = ::corral::egress::v1::Rule;

constexpr absl::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr absl::string_view kLastAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

TEST_P(ProxyTest, PassesHttpToTheHostThatIsNamed) {
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
            kLastAnswer);
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
  EXPECT_EQ(event.received_bytes(), kLastAnswer.size());
  EXPECT_GT(event.duration_ns(), 0);
}

TEST_P(ProxyTest, PassesTheBodyOfARequestAndNoSecondRequest) {
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
            kLastAnswer);
  EXPECT_THAT(all, HasSubstr("\r\n\r\nbody!"));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("other.example")));
}

TEST_P(ProxyTest, PassesAChunkedBodyAndNoSecondRequest) {
  std::string all;
  UpstreamServer server([&](int socket) {
    all = ReadUntil(socket, "0\r\n\r\n");
    SendAll(socket, kAnswer);
    all += ReadUntil(socket, "");
  });
  Serve("api.example", server);
  Start();
  const UniqueFd socket = Dial("api.example", server.port());
  ASSERT_TRUE(SendAll(socket.get(),
                      "POST / HTTP/1.1\r\nHost: api.example\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n5\r\nbo"));
  ASSERT_TRUE(SendAll(socket.get(),
                      "dy!\r\n0\r\n\r\n"
                      "GET /other HTTP/1.1\r\nHost: other.example\r\n\r\n"));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(ReadUntil(socket.get(), ""), kLastAnswer);
  NextEvent();
  EXPECT_THAT(all, ::testing::EndsWith("\r\n\r\n5\r\nbody!\r\n0\r\n\r\n"));
}

TEST_P(ProxyTest, LetsTheServerKnowThatTheClientHasLeft) {
  std::promise<std::string> end;
  UpstreamServer server([&](int socket) {
    ReadUntil(socket, "\r\n\r\n");
    end.set_value(ReadUntil(socket, ""));
  });
  Serve("api.example", server);
  Start();
  UniqueFd socket = Dial("api.example", server.port());
  ASSERT_TRUE(
      SendAll(socket.get(), "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n"));
  socket.Reset();
  EXPECT_EQ(end.get_future().get(), "");
}

TEST_P(ProxyTest, PassesTlsWhoseServerNameIsTheHost) {
  UpstreamServer server(Echo);
  Serve("api.example", server);
  Start();
  const std::string hello = MakeClientHello("api.example");
  const UniqueFd socket = Dial("api.example", server.port());
  ASSERT_TRUE(SendAll(socket.get(), hello + "the rest"));
  EXPECT_EQ(ReadUntil(socket.get(), "the rest"), hello + "the rest");
}

TEST_P(ProxyTest, RefusesWhatIsNotMeantForTheHost) {
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

TEST_P(ProxyTest, RefusesTenMegabytesOfHeaders) {
  UpstreamServer server(Echo);
  Serve("api.example", server);
  Start();
  EXPECT_EQ(Exchange("api.example", server.port(),
                     "GET / HTTP/1.1\r\nHost: api.example\r\nX: " +
                         std::string(10 << 20, 'x')),
            "RST");
  EXPECT_EQ(NextEvent().reason(), Event::NOT_WEB);
}

TEST_P(ProxyTest, LooksUpNothingOutsideUntilSomebodyConnects) {
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

TEST_P(ProxyTest, AnswersOtherTypesOfAnAllowedNameWithoutData) {
  Allow("a.example", 443);
  Start();
  for (const uint16_t type : {2, 5, 15, 16, 33, 65, 255}) {
    const std::string answer = Ask(MakeDnsQuery("a.example", type));
    ASSERT_GE(answer.size(), 12U);
    EXPECT_EQ(answer[3] & 0xf, 0) << type;
    EXPECT_EQ(answer[7], 0) << type;
  }
  EXPECT_EQ(Ask(MakeDnsQuery("evil.com", 16))[3] & 0xf, 3);
}

TEST_P(ProxyTest, RefusesNamesThatLeadToAddressesWhichAreNotPublic) {
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

TEST_P(ProxyTest, RefusesAddressesOfNoNameAndOtherPortsOfAName) {
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
  EXPECT_EQ(errno, device_.ok() ? EHOSTUNREACH : ENETUNREACH);
}

TEST_P(ProxyTest, GivesNamesIpv6AddressesIfTheSandboxHasThem) {
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

TEST_P(ProxyTest, AnswersDnsOverTcp) {
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

TEST_P(ProxyTest, EndsAConnectionThatIsIdleOrLastsTooLong) {
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  auto& limits = *start_.mutable_policy()->mutable_limits();
  for (const Event::Reason reason : {Event::IDLE, Event::TOTAL_TIME}) {
    limits.set_idle_ns(reason == Event::IDLE ? 50'000'000 : 0);
    limits.set_total_ns(reason == Event::TOTAL_TIME ? 50'000'000 : 0);
    if (reason == Event::IDLE) {
      Start();
    } else {
      Restart();
    }
    const UniqueFd socket = Dial("a.example", server.port());
    ASSERT_TRUE(socket.valid());
    char byte;
    EXPECT_LE(::recv(socket.get(), &byte, 1, 0), 0);
    const Event event = NextEvent();
    EXPECT_EQ(event.kind(), Event::CONNECTION_ENDED);
    EXPECT_EQ(event.reason(), reason);
    EXPECT_GE(event.duration_ns(), 50'000'000);
  }
}

TEST_P(ProxyTest, ObeysAPolicyThatReplacesTheFirstOne) {
  UpstreamServer server([](int socket) {
    ReadUntil(socket, "\r\n\r\n");
    SendAll(socket, kAnswer);
  });
  UpstreamServer other([](int socket) {
    ReadUntil(socket, "\n");
    SendAll(socket, "pong");
  });
  Serve("api.example", server);
  Start();
  EXPECT_EQ(Lookup("b.example"), "");
  EXPECT_EQ(NextEvent().host(), "b.example");
  // A connection of the first policy goes on.
  const UniqueFd before = Dial("api.example", server.port());
  Serve("b.example", other, Rule::TCP);
  Update();
  EXPECT_EQ(Exchange("b.example", other.port(), "ping\n"), "pong");
  const std::string request = "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n";
  ::send(before.get(), request.data(), request.size(), MSG_NOSIGNAL);
  char first;
  EXPECT_EQ(::recv(before.get(), &first, 1, 0), 1);
  EXPECT_EQ(first, 'H');
}

TEST_P(ProxyTest, RefusesAPolicyThatIsWrong) {
  Allow("api.example", 443);
  Start();
  const sandbox::UniqueFd spare(::socket(AF_INET, SOCK_STREAM, 0));
  ::corral::egress::v1::Update update;
  ASSERT_TRUE(SendMessage(process_.socket.get(), update, {spare.get()}).ok());
  // The process ends, and its supervisor starts another one.
  AwaitEnd();
}

TEST_P(ProxyTest, KeepsAddressesOfNamesWhenItIsRestarted) {
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

// A start without anything wrong.
wire::Start MakeStart() {
  wire::Start start;
  start.add_descriptors()->set_kind(wire::Descriptor::NAMES);
  start.add_descriptors()->set_kind(wire::Descriptor::DNS_UDP);
  start.add_descriptors()->set_kind(wire::Descriptor::DNS_TCP);
  return start;
}

// Returns the error of Proxy::Create() for the start and the first `count`
// descriptors of MakeStart(), or "created".
std::string Created(const wire::Start& start, size_t count = 3) {
  const auto loop = *sandbox::EventLoop::Create();
  Journal journal([](const wire::Event&) { return true; });
  Proxy::Descriptors descriptors;
  descriptors.push_back(*NameTable::MakeFile());
  descriptors.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  descriptors.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  descriptors.resize(count);
  const auto proxy =
      Proxy::Create(loop.get(), &journal, start, std::move(descriptors));
  return proxy.ok() ? "created" : std::string(proxy.status().message());
}

TEST(ProxyStartTest, RefusesAStartThatIsWrong) {
  EXPECT_EQ(Created(MakeStart()), "created");
  EXPECT_EQ(Created(MakeStart(), 2), "2 descriptors came instead of 3");
  wire::Start start = MakeStart();
  start.mutable_descriptors(0)->set_kind(wire::Descriptor::DNS_UDP);
  EXPECT_EQ(Created(start), "no descriptor for the names");
  for (const int missing : {1, 2}) {
    start = MakeStart();
    start.mutable_descriptors(missing)->set_kind(wire::Descriptor::NAMES);
    EXPECT_EQ(Created(start), "no sockets for the name service") << missing;
  }
  start = MakeStart();
  start.mutable_policy()->add_private_networks("nonsense");
  EXPECT_THAT(Created(start), HasSubstr("must be a network"));
  start = MakeStart();
  start.mutable_policy()->add_rules()->set_host("a.example");
  EXPECT_THAT(Created(start), HasSubstr("at least one port"));
  start = MakeStart();
  start.add_name_servers("nonsense");
  EXPECT_THAT(Created(start), HasSubstr("name servers 'nonsense'"));
}

INSTANTIATE_TEST_SUITE_P(Runs, ProxyTest,
                         ::testing::Values(RunsAs::kThread, RunsAs::kProgram),
                         NameOf);

}  // namespace
}  // namespace egress

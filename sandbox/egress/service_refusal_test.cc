// Requests to services that are refused, and exchanges that break off.

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/service_fixture.h"
#include "tests/network/tls_server.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::tests::SendAll;
using ::tests::TlsConnection;
using ::tests::TlsServer;
using ::tests::UpstreamServer;

using ServiceRefusalTest = ServiceTest;

TEST_P(ServiceRefusalTest, RefusesAnUpstreamWithoutAValidCertificate) {
  const auto ignore = [](TlsConnection& connection) {
    connection.ReadUntil("");
  };
  TlsServer other(ignore);
  TlsServer::Options wrong_name;
  wrong_name.name = "evil.example";
  TlsServer::Options expired;
  expired.expired = true;
  TlsServer::Options old;
  old.most_version = TLS1_1_VERSION;
  const struct {
    TlsServer server;
    bool other_authority;
    const char* why;
  } cases[] = {{{ignore, wrong_name}, false, "hostname mismatch"},
               {{ignore, expired}, false, "certificate has expired"},
               {{ignore, old}, false, "TLS failed"},
               {{ignore, TlsServer::Options()}, true, "certificate"}};
  for (const auto& [server, other_authority, why] : cases) {
    start_.mutable_policy()->clear_services();
    AddService(server.port(),
               other_authority ? other.authority() : server.authority());
    if (described_) {
      Restart();
    } else {
      Start();
    }
    EXPECT_THAT(Request(absl::StrCat(kGet, "\r\n")),
                AllOf(StartsWith("HTTP/1.1 502 Bad Gateway\r\n"),
                      HasSubstr("service model: its upstream is not trusted"),
                      HasSubstr(why), Not(HasSubstr(kSecret))));
    const Event event = NextEvent();
    EXPECT_EQ(event.kind(), Event::CONNECTION_REFUSED);
    EXPECT_EQ(event.reason(), Event::UPSTREAM_NOT_TRUSTED);
  }
}

TEST_P(ServiceRefusalTest, TrustsNoUpstreamWithoutAuthorities) {
  TlsServer server([](TlsConnection&) {});
  AddService(server.port(), "no certificate");
  Start();
  EXPECT_THAT(Request(absl::StrCat(kGet, "\r\n")),
              AllOf(StartsWith("HTTP/1.1 502 Bad Gateway\r\n"),
                    HasSubstr("no authorities")));
  EXPECT_EQ(NextEvent().reason(), Event::UPSTREAM_NOT_TRUSTED);
}

TEST_P(ServiceRefusalTest, TrustsTheAuthoritiesOfTheHostWhereNoneAreGiven) {
  if (::access("/etc/ssl/certs/ca-certificates.crt", R_OK) != 0) {
    GTEST_SKIP() << "the package ca-certificates is not installed";
  }
  TlsServer server([](TlsConnection&) {});
  AddService(server);
  auto* const service = start_.mutable_policy()->mutable_services(0);
  service->set_name("other");
  service->set_own_authorities(false);
  Start();
  EXPECT_THAT(Exchange("other.corral.internal", 80,
                       "GET / HTTP/1.1\r\nHost: other.corral.internal\r\n\r\n"),
              HasSubstr("not trusted: its certificate is not valid"));
  EXPECT_EQ(NextEvent().reason(), Event::UPSTREAM_NOT_TRUSTED);
}

TEST_P(ServiceRefusalTest, SaysWhyTheUpstreamCannotBeReached) {
  uint16_t port;
  {
    const UpstreamServer server(tests::Echo);
    port = server.port();
  }
  AddService(port, "");
  Start();
  const struct {
    std::vector<std::string> addresses;
    const char* why;
    Event::Reason reason;
  } cases[] = {
      {{"127.0.0.1"}, "cannot be reached", Event::UPSTREAM_UNREACHABLE},
      {{"127.0.0.2"}, "is not public", Event::ADDRESS_NOT_ALLOWED},
      {{}, "has no address", Event::NAME_NOT_FOUND}};
  for (const auto& [addresses, why, reason] : cases) {
    server_.Set("api.example", addresses);
    EXPECT_THAT(
        Request(absl::StrCat(kGet, "\r\n")),
        AllOf(StartsWith("HTTP/1.1 502 Bad Gateway\r\n"), HasSubstr(why)));
    EXPECT_EQ(NextEvent().reason(), reason);
  }
}

TEST_P(ServiceRefusalTest, SaysThatThereIsNoCredential) {
  TlsServer server([](TlsConnection&) {});
  AddService(server);
  supervisor_ = std::make_unique<CredentialSupervisor>("");
  Start();
  EXPECT_EQ(Request(absl::StrCat(kGet, "\r\n")),
            "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\n"
            "Content-Length: 32\r\nConnection: close\r\n\r\n"
            "Corral: service model: no value\n");
  EXPECT_EQ(NextEvent().reason(), Event::NO_CREDENTIAL);
}

TEST_P(ServiceRefusalTest, RefusesRequestsThatServersCouldReadDifferently) {
  std::atomic<int> connections{0};
  TlsServer server([&](TlsConnection&) { ++connections; });
  AddService(server);
  Start();
  const std::string host = "Host: model.corral.internal\r\n";
  for (const std::string& request :
       {"GET / HTTP/1.1\r\n" + host + "A: b\nx-api-key: c\r\n\r\n",
        "GET / HTTP/1.1\r\n" + host + "A: b\rc\r\n\r\n",
        "GET / HTTP/1.1\r\n" + host + std::string("A: \0\r\n\r\n", 8),
        "GET / HTTP/1.1\r\n" + host + "A: b\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\n" + host + "A : b\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\n" + host + "\r\n",
        "GET / x HTTP/1.1\r\n" + host + "\r\n",
        "POST / HTTP/1.1\r\n" + host +
            "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\n" + host +
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\n" + host + host + "\r\n",
        "GET / HTTP/2.0\r\n" + host + "\r\n",
        std::string("\x16\x03\x01 hello\r\n")}) {
    EXPECT_THAT(Request(request), StartsWith("HTTP/1.1 400 Bad Request\r\n"))
        << request;
  }
  EXPECT_EQ(NextEvent().reason(), Event::NOT_WEB);
  EXPECT_EQ(connections, 0);
}

TEST_P(ServiceRefusalTest, RefusesOtherHostsAndTrace) {
  TlsServer server([&](TlsConnection&) {});
  AddService(server);
  Start();
  EXPECT_THAT(Request("GET / HTTP/1.1\r\nHost: api.example\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400"),
                    HasSubstr("the host model.corral.internal")));
  const Event event = NextEvent();
  EXPECT_EQ(event.reason(), Event::HOST_DIFFERS);
  EXPECT_EQ(event.claimed(), "api.example");
  EXPECT_THAT(
      Request(absl::StrCat("TRACE / HTTP/1.1\r\nHost: ", kHost, "\r\n\r\n")),
      StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(NextEvent().reason(), Event::NOT_WEB);
}

TEST_P(ServiceRefusalTest, BreaksOffWhenTheBodyIsIncompleteOrMalformed) {
  TlsServer server(
      [&](TlsConnection& connection) { connection.ReadUntil(""); });
  AddService(server);
  Start();
  UniqueFd socket = Dial(kHost, 80);
  ASSERT_TRUE(SendAll(socket.get(),
                      absl::StrCat(kGet, "Content-Length: 5\r\n\r\nhel")));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(NextEvent().reason(), Event::BROKEN);
  EXPECT_EQ(
      Request(absl::StrCat(kGet, "Transfer-Encoding: chunked\r\n\r\n1\nx")),
      "RST");
  EXPECT_EQ(NextEvent().reason(), Event::BROKEN);
}

TEST_P(ServiceRefusalTest, BreaksOffWhenTheAnswerIsCutShort) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send("HTTP/1.1 200 OK\r\n\r\nhalf");
    connection.Cut();
  });
  AddService(server);
  Start();
  EXPECT_THAT(Request(absl::StrCat(kGet, "\r\n")), HasSubstr("RST"));
  EXPECT_EQ(NextEvent().reason(), Event::BROKEN);
}

TEST_P(ServiceRefusalTest, IsReachedAtItsPortAlone) {
  TlsServer server([](TlsConnection&) {});
  AddService(server);
  Allow("*.corral.internal", server.port());
  Start();
  EXPECT_EQ(Exchange(kHost, server.port(), ""), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::PORT_NOT_ALLOWED);
  EXPECT_EQ(Lookup("other.example"), "");
}

TEST_P(ServiceRefusalTest, EndsAnExchangeAtTheLimitOfBytes) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send(
        absl::StrCat("HTTP/1.1 200 OK\r\n\r\n", std::string(500, 'x')));
    connection.ReadUntil("");
  });
  AddService(server);
  start_.mutable_policy()->mutable_limits()->set_bytes(500);
  Start();
  EXPECT_THAT(Request(absl::StrCat(kGet, "\r\n")), HasSubstr("RST"));
  const Event event = NextEvent();
  EXPECT_EQ(event.kind(), Event::CONNECTION_ENDED);
  EXPECT_EQ(event.reason(), Event::BYTE_LIMIT);
}

TEST_P(ServiceRefusalTest, EndsAnExchangeThatIsIdle) {
  std::promise<void> over;
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("");
    over.set_value();
  });
  AddService(server);
  start_.mutable_policy()->mutable_limits()->set_idle_ns(200'000'000);
  Start();
  EXPECT_EQ(Request(absl::StrCat(kGet, "\r\n")), "RST");
  EXPECT_EQ(NextEvent().reason(), Event::IDLE);
  over.get_future().wait();
}

INSTANTIATE_TEST_SUITE_P(Runs, ServiceRefusalTest,
                         ::testing::Values(RunsAs::kThread, RunsAs::kProgram),
                         NameOf);

}  // namespace
}  // namespace egress

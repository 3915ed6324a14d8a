// Services through the way out: what their upstreams get over TLS, and what
// programs inside get.

#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
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
using ::tests::ReadUntil;
using ::tests::SendAll;
using ::tests::TlsConnection;
using ::tests::TlsServer;

constexpr char kAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr char kLastAnswer[] =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

TEST_P(ServiceTest, AddsTheCredentialOutside) {
  std::string head;
  std::string name;
  TlsServer server([&](TlsConnection& connection) {
    name = connection.server_name();
    head = connection.ReadUntil("\r\n\r\n");
    connection.Send(kAnswer);
  });
  AddService(server);
  Start();
  EXPECT_EQ(Request(absl::StrCat(kGet, "X-API-KEY: dummy\r\n\r\n")),
            kLastAnswer);
  EXPECT_EQ(name, "api.example");
  EXPECT_EQ(head, absl::StrCat("GET /v1 HTTP/1.1\r\nHost: api.example:",
                               server.port(), "\r\nx-api-key: ", kSecret,
                               "\r\nConnection: close\r\n\r\n"));
  const Event event = NextEvent();
  EXPECT_EQ(event.kind(), Event::CONNECTION_ENDED);
  EXPECT_EQ(event.reason(), Event::CLOSED);
  EXPECT_EQ(event.host(), kHost);
  EXPECT_EQ(event.port(), 80U);
  EXPECT_EQ(event.upstream(), "127.0.0.1");
  EXPECT_EQ(event.sent_bytes(), head.size());
  EXPECT_EQ(event.received_bytes(), std::string(kLastAnswer).size());
  EXPECT_GT(event.duration_ns(), 0);
}

TEST_P(ServiceTest, PassesBodiesAndNothingAfterThem) {
  std::string all;
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    all = connection.ReadUntil("5\r\nhello\r\n0\r\n\r\n");
    connection.Send(kAnswer);
    all += connection.ReadUntil("");
  });
  AddService(server);
  Start();
  const UniqueFd socket = Dial(kHost, 80);
  ASSERT_TRUE(SendAll(
      socket.get(),
      absl::StrCat("POST /v1 HTTP/1.1\r\nHost: ", kHost,
                   "\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "5\r\nhello\r\n0\r\n\r\n"
                   "GET /other HTTP/1.1\r\nHost: evil.example\r\n\r\n")));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(ReadUntil(socket.get(), ""), kLastAnswer);
  NextEvent();
  EXPECT_EQ(all, "5\r\nhello\r\n0\r\n\r\n");
}

TEST_P(ServiceTest, PassesAnInterimAnswerBeforeTheBody) {
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send("HTTP/1.1 100 Continue\r\n\r\n");
    connection.Send(
        absl::StrCat("HTTP/1.1 200 OK\r\n\r\n", connection.ReadUntil("hello")));
  });
  AddService(server);
  Start();
  const UniqueFd socket = Dial(kHost, 80);
  ASSERT_TRUE(SendAll(socket.get(), absl::StrCat(kGet,
                                                 "Expect: 100-continue\r\n"
                                                 "Content-Length: 5\r\n\r\n")));
  EXPECT_EQ(ReadUntil(socket.get(), "\r\n\r\n"),
            "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(SendAll(socket.get(), "hello"));
  EXPECT_EQ(ReadUntil(socket.get(), ""),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
}

TEST_P(ServiceTest, StreamsAnAnswer) {
  std::promise<void> first_read;
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send("HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n");
    first_read.get_future().wait();
    connection.Send("data: 2\n\n");
  });
  AddService(server);
  Start();
  const UniqueFd socket = Dial(kHost, 80);
  ASSERT_TRUE(SendAll(socket.get(), absl::StrCat(kGet, "\r\n")));
  EXPECT_THAT(ReadUntil(socket.get(), "data: 1\n\n"), HasSubstr("data: 1"));
  first_read.set_value();
  EXPECT_EQ(ReadUntil(socket.get(), ""), "data: 2\n\n");
}

TEST_P(ServiceTest, PassesRedirectsToTheClient) {
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send(
        "HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\n\r\n");
  });
  AddService(server);
  Start();
  EXPECT_THAT(Request(absl::StrCat(kGet, "\r\n")),
              AllOf(StartsWith("HTTP/1.1 302"), HasSubstr("evil.example"),
                    Not(HasSubstr(kSecret))));
  EXPECT_THAT(server_.Questions(), ::testing::Each("api.example"));
}

TEST_P(ServiceTest, MovesLargeBodiesBothWays) {
  // More than all buffers between can hold.
  const std::string up = std::string((4 << 20) - 1, 'x') + "\n";
  const std::string down(32 << 20, 'y');
  std::string got;
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    got = connection.ReadUntil("\n");
    connection.Send("HTTP/1.1 200 OK\r\n\r\n");
    connection.Send(down);
  });
  AddService(server);
  Start();
  const UniqueFd socket = Dial(kHost, 80);
  ASSERT_TRUE(SendAll(socket.get(), absl::StrCat(kGet, "Content-Length: ",
                                                 up.size(), "\r\n\r\n", up)));
  const std::string answer = ReadUntil(socket.get(), "");
  EXPECT_TRUE(got == up);
  EXPECT_EQ(answer.size(), 38 + down.size());
}

TEST_P(ServiceTest, ServesAThousandAtOnceInBoundedMemory) {
  if (std::getenv("TEST_EMULATED") != nullptr) {
    GTEST_SKIP() << "takes minutes in an emulated machine";
  }
  // Each end, here and in the proxy.
  const rlimit files = {20000, 20000};
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) {
    GTEST_SKIP() << "this host allows too few open files";
  }
  constexpr int kConnections = 1000;
  std::promise<void> all_there;
  const std::shared_future<void> go(all_there.get_future());
  std::atomic<int> connections{0};
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send("HTTP/1.1 200 OK\r\n\r\n");
    if (++connections == kConnections) {
      all_there.set_value();
    }
    go.wait();
    connection.Send(std::string(100'000, 'x'));
  });
  AddService(server);
  Start();
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < kConnections; ++i) {
    sockets.push_back(Dial(kHost, 80));
    ASSERT_TRUE(SendAll(sockets.back().get(), absl::StrCat(kGet, "\r\n")));
  }
  go.wait();
  if (GetParam() == RunsAs::kProgram) {
    int kib = 0;
    ASSERT_TRUE(absl::SimpleAtoi(Status("VmHWM").substr(0, 9), &kib));
    EXPECT_LT(kib, 200 << 10);
    RecordProperty("peak_kib", kib);
  }
  for (const UniqueFd& socket : sockets) {
    EXPECT_EQ(ReadUntil(socket.get(), "").size(), 100'038U);
  }
}

TEST_P(ServiceTest, HasTheCredentialReadAgainWhenTheUpstreamRefusesIt) {
  TlsServer server([](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  });
  AddService(server);
  Start();
  EXPECT_THAT(Request(absl::StrCat(kGet, "\r\n")), StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(supervisor_->refusals(), 0);
  EXPECT_THAT(Request(absl::StrCat(kGet, "\r\n")), StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(supervisor_->refusals(), 1);
}

TEST_P(ServiceTest, LetsTheUpstreamKnowThatTheClientHasLeft) {
  std::promise<std::string> end;
  TlsServer server([&](TlsConnection& connection) {
    connection.ReadUntil("\r\n\r\n");
    end.set_value(connection.ReadUntil(""));
  });
  AddService(server);
  Start();
  UniqueFd socket = Dial(kHost, 80);
  ASSERT_TRUE(SendAll(socket.get(), absl::StrCat(kGet, "\r\n")));
  socket.Reset();
  EXPECT_EQ(end.get_future().get(), "");
}

INSTANTIATE_TEST_SUITE_P(Runs, ServiceTest,
                         ::testing::Values(RunsAs::kThread, RunsAs::kProgram),
                         NameOf);

}  // namespace
}  // namespace egress

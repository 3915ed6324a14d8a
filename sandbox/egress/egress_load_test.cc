// Many connections and names.

#include <sys/resource.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/egress_fixture.h"
#include "sandbox/egress/ip_address.h"
#include "tests/network/dns_query.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::tests::Echo;
using ::tests::MakeDnsQuery;
using ::tests::ReadUntil;
using ::tests::SendAll;
using ::tests::UpstreamServer;
using Rule = ::corral::egress::v1::Rule;
using EgressLoadTest = EgressTest;

TEST_F(EgressLoadTest, ServesAThousandConnectionsAtOnce) {
  // Each end, here and in the proxy, and the pipes between them.
  const rlimit files = {20000, 20000};
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) {
    GTEST_SKIP() << "this host allows too few open files";
  }
  UpstreamServer server(Echo);
  Serve("a.example", server, Rule::TCP);
  Start();
  const std::string address = Lookup("a.example");
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 1000; ++i) {
    sockets.push_back(Dial(address, server.port()));
    ASSERT_TRUE(SendAll(sockets.back().get(), "hello"));
  }
  for (const UniqueFd& socket : sockets) {
    EXPECT_EQ(ReadUntil(socket.get(), "hello"), "hello");
  }
  EXPECT_EQ(server.connections(), 1000);
}

TEST_F(EgressLoadTest, DoesNotGrowUnderAFloodOfNames) {
  Allow("*.example", 443);
  Start();
  for (int i = 0; i < 200; ++i) {
    Lookup(absl::StrCat("warm", i, ".example"));
  }
  int before = 0;
  ASSERT_TRUE(absl::SimpleAtoi(Status("VmRSS").substr(0, 9), &before));
  inside_.Run([&] {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage server;
    const socklen_t size =
        IpAddress::Parse("127.0.0.53")->ToSocket(53, &server);
    ::connect(socket.get(), reinterpret_cast<sockaddr*>(&server), size);
    for (int i = 0; i < 20'000; ++i) {
      const std::string query = MakeDnsQuery(
          absl::StrCat("n", i, i % 2 == 0 ? ".example" : ".evil.com"), 1);
      char answer[512];
      ::send(socket.get(), query.data(), query.size(), 0);
      EXPECT_GT(::recv(socket.get(), answer, sizeof(answer), 0), 12);
    }
  });
  int after = 0;
  ASSERT_TRUE(absl::SimpleAtoi(Status("VmRSS").substr(0, 9), &after));
  // The table holds 4096 names of 256 bytes, and an index of them.
  EXPECT_LT(after - before, 4 << 10) << "KiB";
}

}  // namespace
}  // namespace egress

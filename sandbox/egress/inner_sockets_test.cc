#include "sandbox/egress/inner_sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/ip_address.h"
#include "tests/network/network_namespace.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

using ::corral::egress::v1::Descriptor;
using ::sandbox::UniqueFd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::IsOk;

// The name of a socket: its type, its address and its port.
std::string NameOf(const UniqueFd& socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size);
  int type = 0;
  size = sizeof(type);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size);
  return absl::StrCat(type == SOCK_DGRAM ? "udp " : "tcp ",
                      IpAddress::Of(name).ToString(), " ",
                      ntohs(reinterpret_cast<sockaddr_in*>(&name)->sin_port));
}

// The descriptions and the names of all sockets.
std::vector<std::string> Describe(const InnerSockets& inner) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < inner.sockets.size(); ++i) {
    const Descriptor& descriptor =
        inner.description.descriptors(static_cast<int>(i));
    lines.push_back(absl::StrCat(Descriptor::Kind_Name(descriptor.kind()), " ",
                                 descriptor.port(), ": ",
                                 NameOf(inner.sockets[i])));
  }
  return lines;
}

class InnerSocketsTest : public ::testing::Test {
 protected:
  // Opens the sockets and listeners for further ports.
  void Open(const std::set<uint16_t>& ports,
            const std::set<uint16_t>& further) {
    inside_.Run([&] {
      inner_ = OpenInnerSockets(ports);
      further_ =
          OpenListeners(further, inner_.ok() && inner_->description.ipv6());
    });
  }

  const tests::NetworkNamespace inside_;
  absl::StatusOr<InnerSockets> inner_;
  absl::StatusOr<InnerSockets> further_;
};

TEST_F(InnerSocketsTest, AreDescribedInTheirOrder) {
  Open({80, 443}, {22});
  ASSERT_THAT(inner_.status(), IsOk());
  ASSERT_THAT(further_.status(), IsOk());
  if (!inner_->description.ipv6()) {
    GTEST_SKIP() << "this kernel has no IPv6";
  }
  EXPECT_THAT(
      Describe(*inner_),
      ElementsAre("DNS_UDP 53: udp 127.0.0.53 53",
                  "DNS_TCP 53: tcp 127.0.0.53 53",
                  "LISTENER 80: tcp 0.0.0.0 80", "LISTENER 80: tcp :: 80",
                  "LISTENER 443: tcp 0.0.0.0 443", "LISTENER 443: tcp :: 443"));
  EXPECT_THAT(Describe(*further_), ElementsAre("LISTENER 22: tcp 0.0.0.0 22",
                                               "LISTENER 22: tcp :: 22"));
}

TEST_F(InnerSocketsTest, NeitherBlockNorReachOtherPrograms) {
  Open({80}, {});
  ASSERT_THAT(inner_.status(), IsOk());
  for (const UniqueFd& socket : inner_->sockets) {
    EXPECT_NE(::fcntl(socket.get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(socket.get(), F_GETFD), FD_CLOEXEC);
    int listens = 0;
    socklen_t size = sizeof(listens);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
    EXPECT_EQ(listens != 0, NameOf(socket).substr(0, 3) == "tcp");
  }
}

TEST_F(InnerSocketsTest, FailOnAPortThatIsTaken) {
  Open({}, {53});
  ASSERT_THAT(inner_.status(), IsOk());
  EXPECT_THAT(std::string(further_.status().message()),
              HasSubstr("listen on 0.0.0.0:53"));
}

TEST_F(InnerSocketsTest, FailWhereAnotherNameServiceListens) {
  const tests::NetworkNamespace other;
  other.Run([this] {
    const UniqueFd taken(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage name;
    const socklen_t size = IpAddress::Parse("127.0.0.53")->ToSocket(53, &name);
    EXPECT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&name), size), 0);
    inner_ = OpenInnerSockets({80});
  });
  EXPECT_THAT(std::string(inner_.status().message()),
              HasSubstr("listen on 127.0.0.53:53"));
}

}  // namespace
}  // namespace egress

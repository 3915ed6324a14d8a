#include "bridge/mcp/http/loopback_peer.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::sandbox::UniqueFd;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uid_t kPerson = 1000;
constexpr uid_t kOther = 1001;

sockaddr_storage Loopback(int family) {
  sockaddr_storage address = {};
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr = in6addr_loopback;
  } else {
    reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr =
        htonl(INADDR_LOOPBACK);
  }
  return address;
}

sockaddr_storage OwnEnd(const UniqueFd& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  EXPECT_EQ(
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size),
      0);
  return address;
}

// A client's connection to a server of this process.
class Connection {
 public:
  explicit Connection(int family)
      : listener_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        client_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_storage any = Loopback(family);
    const auto* address = reinterpret_cast<const sockaddr*>(&any);
    is_made_ = ::bind(listener_.get(), address, sizeof(any)) == 0 &&
               ::listen(listener_.get(), 1) == 0;
    server_ = OwnEnd(listener_);
    is_made_ =
        is_made_ &&
        ::connect(client_.get(), reinterpret_cast<const sockaddr*>(&server_),
                  sizeof(server_)) == 0;
  }

  bool is_made() const { return is_made_; }
  sockaddr_storage client() const { return OwnEnd(client_); }
  const sockaddr_storage& server() const { return server_; }
  absl::Status Check() const { return CheckLoopbackPeer(client(), server_); }

 private:
  const UniqueFd listener_;
  const UniqueFd client_;
  sockaddr_storage server_;
  bool is_made_ = false;
};

TEST(LoopbackPeerTest, ServesTheUserOfThisProcess) {
  for (const int family : {AF_INET, AF_INET6}) {
    const Connection connection(family);
    if (!connection.is_made()) {
      GTEST_SKIP() << "needs 127.0.0.1 and ::1";
    }
    EXPECT_THAT(connection.Check(), IsOk());
  }
}

TEST(LoopbackPeerTest, RefusesAConnectionThatItCannotFind) {
  const sockaddr_storage end = Loopback(AF_INET);
  EXPECT_THAT(CheckLoopbackPeer(end, end),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
}

TEST(LoopbackPeerTest, LooksAtBothEndsOfAConnection) {
  const Connection one(AF_INET);
  const Connection other(AF_INET);
  const auto refused =
      StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_);
  EXPECT_THAT(CheckLoopbackPeer(one.client(), one.server()), IsOk());
  EXPECT_THAT(CheckLoopbackPeer(one.client(), other.server()), refused);
  EXPECT_THAT(CheckLoopbackPeer(other.client(), one.server()), refused);
  // The other direction is the server's socket, not the client's.
  EXPECT_THAT(CheckLoopbackPeer(one.server(), one.server()), refused);
}

TEST(LoopbackPeerTest, ServesRootButNoOtherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  const Connection of_root(AF_INET);
  ASSERT_EQ(::seteuid(kPerson), 0);
  const Connection of_person(AF_INET);
  EXPECT_THAT(of_root.Check(), IsOk());
  EXPECT_THAT(of_person.Check(), IsOk());
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(::seteuid(kOther), 0);
  EXPECT_THAT(of_root.Check(), IsOk());
  EXPECT_THAT(of_person.Check(),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  ASSERT_EQ(::seteuid(0), 0);
}

}  // namespace
}  // namespace bridge

// Addresses that a program dials although they stand for no name, with a real
// device in a namespace.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/proxy_fixture.h"

namespace egress {
namespace {

class DirectAddressTest : public ProxyTest {
 protected:
  void SetUp() override {
    Start();
    if (!device_.ok()) {
      GTEST_SKIP() << device_;
    }
  }
  // The errno of a connection to an address.
  int DialError(const std::string& address, uint16_t port) {
    errno = 0;
    return Dial(address, port).valid() ? 0 : errno;
  }
  void ExpectRefused(const std::string& address, uint16_t port) {
    const Event event = NextEvent();
    EXPECT_EQ(event.kind(), Event::ADDRESS_REFUSED);
    EXPECT_EQ(event.reason(), Event::DIRECT_ADDRESS);
    EXPECT_EQ(event.transport(), Event::TCP);
    EXPECT_EQ(absl::StrCat(event.host(), " ", event.port()),
              absl::StrCat(address, " ", port));
  }
};

TEST_P(DirectAddressTest, RefusesAndReportsAConnection) {
  EXPECT_EQ(DialError("8.8.8.8", 443), EHOSTUNREACH);
  ExpectRefused("8.8.8.8", 443);
  EXPECT_EQ(DialError("2001:db8::1", 80), EACCES);
  ExpectRefused("2001:db8::1", 80);
}

TEST_P(DirectAddressTest, LeavesInnerAddressesToTheNamespace) {
  // Nobody listens there, which is no event.
  EXPECT_EQ(DialError("198.18.0.1", 9), ECONNREFUSED);
  EXPECT_EQ(DialError("198.19.255.254", 9), ECONNREFUSED);
  EXPECT_EQ(DialError("127.0.0.1", 9), ECONNREFUSED);
  EXPECT_EQ(DialError("fdc0:11a1::1", 9), ECONNREFUSED);
  EXPECT_EQ(DialError("8.8.8.8", 9), EHOSTUNREACH);
  ExpectRefused("8.8.8.8", 9);
}

TEST_P(DirectAddressTest, RefusesInTheNextProcessWhatTheLastOneLeft) {
  Kill();
  std::future<int> dialled = std::async(
      std::launch::async, [this] { return DialError("8.8.8.8", 1); });
  Restart();
  ExpectRefused("8.8.8.8", 1);
  EXPECT_EQ(dialled.get(), EHOSTUNREACH);
}

INSTANTIATE_TEST_SUITE_P(WayOut, DirectAddressTest,
                         ::testing::Values(RunsAs::kThread, RunsAs::kProgram),
                         NameOf);

}  // namespace
}  // namespace egress

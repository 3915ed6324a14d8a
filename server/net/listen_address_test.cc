#include "server/net/listen_address.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST(ListenAddressTest, IsASocketOrAHostAndPort) {
  const auto socket = ParseListenAddress("unix:/run/sock");
  ASSERT_THAT(socket.status(), IsOk());
  EXPECT_TRUE(socket->is_socket());
  EXPECT_EQ(socket->socket_path, "/run/sock");
  for (const char* text : {"host:1", "[::1]:65535", "127.0.0.1:4444"}) {
    const auto tcp = ParseListenAddress(text);
    ASSERT_THAT(tcp.status(), IsOk()) << text;
    EXPECT_FALSE(tcp->is_socket());
    EXPECT_EQ(tcp->host_and_port, text);
  }
}

TEST(ListenAddressTest, RefusesAllElseByItsValue) {
  for (const char* text : {"", "host", "host:", "host:0", "host:65536",
                           "host:-1", "host:x", ":1", "unix:", "unix:run"}) {
    EXPECT_THAT(ParseListenAddress(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("value \"" + std::string(text) + "\"")))
        << text;
  }
}

TEST(ListenAddressTest, ThePathOfASocketFitsIntoItsAddress) {
  // sockaddr_un has 108 bytes with the NUL at the end.
  const std::string longest = "unix:/" + std::string(106, 'a');
  EXPECT_THAT(ParseListenAddress(longest).status(), IsOk());
  EXPECT_FALSE(ParseListenAddress(longest + "a").ok());
}

}  // namespace
}  // namespace server

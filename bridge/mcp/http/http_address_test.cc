#include "bridge/mcp/http/http_address.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

std::string Parsed(const char* text) {
  const absl::StatusOr<HttpAddress> address = HttpAddress::Parse(text);
  return address.ok() ? address->ToString() : "malformed";
}

TEST(HttpAddress, IsLoopbackUnlessAnotherAddressIsGiven) {
  EXPECT_EQ(Parsed("8080"), "127.0.0.1:8080");
  EXPECT_EQ(Parsed("localhost:80"), "127.0.0.1:80");
  EXPECT_EQ(Parsed("[::1]:8080"), "[::1]:8080");
  EXPECT_EQ(Parsed("65535"), "127.0.0.1:65535");
  EXPECT_TRUE(HttpAddress::Parse("8080")->IsLoopback());
  EXPECT_TRUE(HttpAddress::Parse("127.1.2.3:1")->IsLoopback());
  EXPECT_TRUE(HttpAddress::Parse("[::1]:1")->IsLoopback());
  EXPECT_FALSE(HttpAddress::Parse("0.0.0.0:1")->IsLoopback());
  EXPECT_FALSE(HttpAddress::Parse("[::]:1")->IsLoopback());
  EXPECT_FALSE(HttpAddress::Parse("126.0.0.1:1")->IsLoopback());
  EXPECT_FALSE(HttpAddress::Parse("128.0.0.1:1")->IsLoopback());
}

TEST(HttpAddress, IsKnownOfASocketOnly) {
  EXPECT_FALSE(HttpAddress::Of(-1).ok());
}

TEST(HttpAddress, RefusesWhatIsNoAddress) {
  for (const char* text :
       {"", "x", "65536", "-1", "1.2.3:4", "example.com:80", "::1:80", "[::1]",
        "[::1]x:1", ":80", "127.0.0.1:"}) {
    EXPECT_EQ(Parsed(text), "malformed") << text;
  }
}

}  // namespace
}  // namespace bridge

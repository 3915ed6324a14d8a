#include "bridge/mcp/http/access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "bridge/mcp/http/http_address.h"
#include "bridge/mcp/http/http_message.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {
namespace {

constexpr char kToken[] = "0123456789abcdef";

// A connection of this process with itself.
class AccessTest : public ::testing::Test {
 protected:
  AccessTest()
      : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        client_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const HttpAddress any = HttpAddress::Parse("0").value();
    EXPECT_EQ(::bind(listening_.get(), any.get(), any.size()), 0);
    EXPECT_EQ(::listen(listening_.get(), 1), 0);
    const HttpAddress bound = HttpAddress::Of(listening_.get()).value();
    EXPECT_EQ(::connect(client_.get(), bound.get(), bound.size()), 0);
    socklen_t size = sizeof(request_.client);
    ::getsockname(client_.get(), reinterpret_cast<sockaddr*>(&request_.client),
                  &size);
    size = sizeof(request_.server);
    ::getpeername(client_.get(), reinterpret_cast<sockaddr*>(&request_.server),
                  &size);
    request_.fields["host"] = "127.0.0.1:80";
  }

  sandbox::UniqueFd listening_;
  sandbox::UniqueFd client_;
  HttpRequest request_;
};

TEST_F(AccessTest, ServesProgramsOfTheSameUserWithoutAToken) {
  for (const char* host :
       {"localhost", "LocalHost:80", "127.0.0.1:1", "[::1]", "[::1]:80"}) {
    request_.fields["host"] = host;
    EXPECT_TRUE(Access("").Check(request_).ok()) << host;
  }
}

TEST_F(AccessTest, RefusesNamesThatCouldBeAWebPages) {
  for (const char* host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
        "evil.example:80", "127.0.0.1, evil.example"}) {
    request_.fields["host"] = host;
    EXPECT_TRUE(absl::IsPermissionDenied(Access("").Check(request_))) << host;
  }
}

TEST_F(AccessTest, RefusesWebPagesOfOtherOrigins) {
  // A proxy may speak TLS.
  for (const char* origin : {"http://127.0.0.1:80", "https://127.0.0.1:80"}) {
    request_.fields["origin"] = origin;
    EXPECT_TRUE(Access("").Check(request_).ok()) << origin;
  }
  for (const char* origin :
       {"http://evil.example", "null", "http://127.0.0.1:81"}) {
    request_.fields["origin"] = origin;
    EXPECT_TRUE(absl::IsPermissionDenied(Access("").Check(request_)));
    request_.fields["authorization"] = std::string("Bearer ") + kToken;
    EXPECT_TRUE(absl::IsPermissionDenied(Access(kToken).Check(request_)));
  }
}

TEST_F(AccessTest, RefusesConnectionsWhoseUserIsNotKnown) {
  // The kernel no longer knows whose it was.
  client_.Reset();
  EXPECT_TRUE(absl::IsPermissionDenied(Access("").Check(request_)));
}

TEST_F(AccessTest, DemandsTheToken) {
  const Access access(kToken);
  EXPECT_TRUE(absl::IsUnauthenticated(access.Check(request_)));
  for (const char* wrong : {"Bearer", "Bearer ", "Bearer 0123456789abcdeX",
                            "Basic 0123456789abcdef",
                            "Bearer 0123456789abcdef0", "0123456789abcdef"}) {
    request_.fields["authorization"] = wrong;
    EXPECT_TRUE(absl::IsUnauthenticated(access.Check(request_))) << wrong;
  }
  request_.fields["authorization"] = std::string("bearer ") + kToken;
  request_.fields["host"] = "build.example";
  EXPECT_TRUE(access.Check(request_).ok());
}

TEST(ReadToken, TakesOnlyAFileOfItsOwnerWithALongToken) {
  const std::string file = std::string(std::getenv("TEST_TMPDIR")) + "/token";
  EXPECT_FALSE(ReadToken(file).ok());
  std::ofstream(file) << kToken << "\n";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(ReadToken(file).value(), kToken);
  for (const mode_t others : {0640, 0620, 0604, 0602}) {
    ASSERT_EQ(::chmod(file.c_str(), others), 0);
    EXPECT_TRUE(absl::IsInvalidArgument(ReadToken(file).status())) << others;
  }
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  for (const char* wrong :
       {"0123456789abcde", "0123456789 abcdef", "0123456789abcde\xc3"}) {
    std::ofstream(file) << wrong;
    EXPECT_FALSE(ReadToken(file).ok()) << wrong;
  }
  const std::string directory = file + ".d";
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  EXPECT_FALSE(ReadToken(directory).ok());
}

}  // namespace
}  // namespace bridge

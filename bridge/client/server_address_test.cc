#include "bridge/client/server_address.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class ServerAddressTest : public ::testing::Test {
 protected:
  ServerAddressTest() { ::unsetenv("CORRAL_SERVER"); }
};

TEST_F(ServerAddressTest, PrefersTheOptionToTheEnvironment) {
  ::setenv("CORRAL_SERVER", "unix:/b", 1);
  EXPECT_EQ(ResolveServerAddress("unix:/a")->text, "unix:/a");
  EXPECT_EQ(ResolveServerAddress("")->text, "unix:/b");
  EXPECT_FALSE(ResolveServerAddress("")->is_default);
}

TEST_F(ServerAddressTest, FallsBackToTheDefaultSocketOfTheUser) {
  ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const auto address = ResolveServerAddress("");
  ASSERT_TRUE(address.ok());
  EXPECT_TRUE(address->is_default);
  EXPECT_EQ(address->socket_path, ::geteuid() == 0
                                      ? "/run/corral/corrald.sock"
                                      : "/run/user/7/corral/corrald.sock");
}

TEST_F(ServerAddressTest, NeedsARuntimeDirectoryForOtherUsersThanRoot) {
  if (::geteuid() == 0 && ::seteuid(65534) != 0) {
    GTEST_SKIP() << "this root cannot become another user";
  }
  ::unsetenv("XDG_RUNTIME_DIR");
  const auto without = ResolveServerAddress("");
  ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const auto with = ResolveServerAddress("");
  ASSERT_EQ(::seteuid(::getuid()), 0);
  EXPECT_THAT(without.status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("name a server with --server")));
  ASSERT_THAT(with.status(), IsOk());
  EXPECT_EQ(with->socket_path, "/run/user/7/corral/corrald.sock");
}

TEST_F(ServerAddressTest, MakesSocketPathsAbsolute) {
  char directory[4096];
  ASSERT_NE(::getcwd(directory, sizeof directory), nullptr);
  ASSERT_EQ(::chdir("/tmp"), 0);
  EXPECT_EQ(ResolveServerAddress("unix:x.sock")->socket_path, "/tmp/x.sock");
  EXPECT_EQ(ResolveServerAddress("unix:///x.sock")->text, "unix:/x.sock");
  ASSERT_EQ(::chdir(directory), 0);
}

TEST_F(ServerAddressTest, SaysThatTheCurrentDirectoryIsGone) {
  char before[4096];
  ASSERT_NE(::getcwd(before, sizeof before), nullptr);
  char directory[] = "/tmp/server_address_test.XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  ASSERT_EQ(::chdir(directory), 0);
  ASSERT_EQ(::rmdir(directory), 0);
  EXPECT_THAT(ResolveServerAddress("unix:x.sock").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("getcwd")));
  EXPECT_THAT(ResolveServerAddress("unix:/x.sock").status(), IsOk());
  ASSERT_EQ(::chdir(before), 0);
}

TEST_F(ServerAddressTest, TakesHostAndPort) {
  const auto address = ResolveServerAddress("build.example:7443");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->text, "build.example:7443");
  EXPECT_EQ(address->socket_path, "");
  for (const char* text : {"[::1]:7443", "host:1", "host:65535"}) {
    EXPECT_TRUE(ResolveServerAddress(text).ok()) << text;
  }
}

TEST_F(ServerAddressTest, RefusesTextThatIsNotAnAddress) {
  for (const char* text : {"host", "host:0", "host:65536", "host:", ":1",
                           "/run/x.sock", "http://h:1", "unix:"}) {
    EXPECT_THAT(ResolveServerAddress(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("allowed is unix:PATH or HOST:PORT")))
        << text;
  }
}

TEST_F(ServerAddressTest, RefusesAPathThatIsTooLongForASocket) {
  EXPECT_THAT(
      ResolveServerAddress("unix:/" + std::string(107, 'a')).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("107 bytes")));
  EXPECT_TRUE(ResolveServerAddress("unix:/" + std::string(106, 'a')).ok());
}

}  // namespace
}  // namespace client

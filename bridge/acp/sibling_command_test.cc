#include "bridge/acp/sibling_command.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

// The program that surely stands in the directory of this one.
constexpr char kSelf[] = "sibling_command_test";

TEST(SiblingCommandTest, NamesTheServerAndItsFilesByAbsolutePaths) {
  ::unsetenv("CORRAL_TLS_CA");
  ::setenv("CORRAL_TLS_CERT", "/other", 1);
  ::setenv("CORRAL_TLS_KEY", "/key", 1);
  client::ConnectOptions server;
  server.server = "unix:/s";
  server.tls_certificate_file = "cert";
  EXPECT_THAT(SiblingCommand(kSelf, server),
              ElementsAre(EndsWith(std::string("/") + kSelf), "--server",
                          "unix:/s", "--tls-cert",
                          (std::filesystem::current_path() / "cert").string(),
                          "--tls-key", "/key"));
}

TEST(SiblingCommandTest, IsEmptyIfNoSuchProgramStandsThere) {
  EXPECT_THAT(SiblingCommand("no-such-program", {}), IsEmpty());
}

}  // namespace
}  // namespace bridge

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

TEST(SiblingCommandTest, TakesTheFilesOfTheOptionsBeforeThoseOfTheVariables) {
  for (const char* variable :
       {"CORRAL_TLS_CA", "CORRAL_TLS_CERT", "CORRAL_TLS_KEY"}) {
    ::setenv(variable, "/other", 1);
  }
  client::ConnectOptions server;
  server.server = "unix:/s";
  server.tls_ca_file = "/ca";
  server.tls_certificate_file = "/cert";
  server.tls_key_file = "/key";
  EXPECT_THAT(SiblingCommand(kSelf, server),
              ElementsAre(EndsWith(kSelf), "--server", "unix:/s", "--tls-ca",
                          "/ca", "--tls-cert", "/cert", "--tls-key", "/key"));
}

TEST(SiblingCommandTest, NamesNoServerThatCannotBe) {
  for (const char* variable :
       {"CORRAL_TLS_CA", "CORRAL_TLS_CERT", "CORRAL_TLS_KEY"}) {
    ::unsetenv(variable);
  }
  client::ConnectOptions server;
  server.server = "nonsense";
  EXPECT_THAT(SiblingCommand(kSelf, server), ElementsAre(EndsWith(kSelf)));
}

TEST(SiblingCommandTest, IsEmptyIfNoSuchProgramStandsThere) {
  EXPECT_THAT(SiblingCommand("no-such-program", {}), IsEmpty());
}

}  // namespace
}  // namespace bridge

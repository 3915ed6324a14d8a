#include "server/api/egress_services.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using corral::supervisor::v1::Egress;
using corral::v1::Sandbox;
using google::protobuf::TextFormat;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::tests::IsOk;
using ::tests::StatusIs;

Sandbox Parse(const std::string& text) {
  Sandbox sandbox;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &sandbox)) << text;
  return sandbox;
}

Sandbox WithServices(int count) {
  Sandbox sandbox = Parse("network: ALLOW_LIST");
  for (int i = 0; i < count; ++i) {
    sandbox.add_egress_services(absl::StrCat("s", i));
  }
  return sandbox;
}

// Offers "model", with a file, and "forge", with a command.
Egress Offered() {
  Egress egress;
  egress.mutable_policy()->add_services()->set_name("model");
  egress.mutable_policy()->add_services()->set_name("forge");
  auto* const model = egress.add_credentials();
  model->set_service("model");
  model->set_file("/keys/deep/model.key");
  auto* const forge = egress.add_credentials();
  forge->set_service("forge");
  forge->add_command("/bin/sh");
  forge->add_command("--rcfile=/tools/rc");
  forge->add_command("--path=/toolsbin:/safes:/safe");
  return egress;
}

absl::Status Check(const std::string& directories,
                   const std::string& service = "model") {
  return CheckOfferedServices(
      "s",
      Parse(absl::StrCat("network: ALLOW_LIST egress_services: '", service,
                         "' ", directories)),
      Offered());
}

TEST(EgressServicesTest, AllowsNamesOfServicesInAnAllowList) {
  EXPECT_THAT(CheckEgressServices("s", WithServices(0)), IsOk());
  EXPECT_THAT(CheckEgressServices("s", WithServices(64)), IsOk());
  EXPECT_THAT(CheckEgressServices("s", Parse("")), IsOk());
}

TEST(EgressServicesTest, NamesTheServiceThatIsWrong) {
  EXPECT_THAT(
      CheckEgressServices("s", WithServices(65)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("s.egress_services"), HasSubstr("at most 64"))));
  for (const char* network : {"network: NONE", ""}) {
    EXPECT_THAT(CheckEgressServices(
                    "s", Parse(absl::StrCat(network, " egress_services: 'a'"))),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("unless network is ALLOW_LIST")));
  }
  for (const char* second : {"a", "A", "", "a.b", "-"}) {
    EXPECT_THAT(
        CheckEgressServices(
            "s", Parse(absl::StrCat("network: ALLOW_LIST egress_services: 'a' "
                                    "egress_services: '",
                                    second, "'"))),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("s.egress_services[1]")))
        << second;
  }
}

TEST(EgressServicesTest, RefusesServicesThatAreNotOffered) {
  EXPECT_THAT(Check(""), IsOk());
  EXPECT_THAT(
      Check("", "other"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("s.egress_services[0]"), HasSubstr("\"other\""),
                     HasSubstr("model, forge"))));
  EXPECT_THAT(
      CheckOfferedServices("s", Parse("egress_services: 'model'"), Egress()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("offers no service")));
}

TEST(EgressServicesTest, RefusesAFileThatCommandsOfTheSandboxSee) {
  for (const char* seen :
       {"workspace { path: '/keys' }", "workspace { path: '/keys/' }",
        "workspace { path: '/a' } further_workspaces { path: '/keys/deep' }",
        "mounts { source: '/b' } mounts { source: '/keys' }",
        "mounts { source: '/keys/deep/model.key' }"}) {
    EXPECT_THAT(Check(seen),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("s.egress_services[0]"),
                               HasSubstr("\"model\""), HasSubstr("in /keys"))))
        << seen;
    EXPECT_THAT(Check(seen, "forge"), IsOk()) << seen;
  }
  EXPECT_THAT(Check("workspace { path: '/key' }"), IsOk());
}

TEST(EgressServicesTest, RefusesACommandThatCommandsOfTheSandboxCanReplace) {
  for (const char* seen :
       {"workspace { path: '/tools' }", "mounts { source: '/bin' }",
        "mounts { source: '/tools/rc' }", "mounts { source: '/safe' }"}) {
    EXPECT_THAT(Check(seen, "forge"), Not(IsOk())) << seen;
    EXPECT_THAT(Check(seen), IsOk()) << seen;
  }
  for (const char* other :
       {"workspace { path: '/tool' }", "mounts { source: '/tools/r' }"}) {
    EXPECT_THAT(Check(other, "forge"), IsOk()) << other;
  }
}

TEST(EgressServicesTest, KeepsTheServicesThatASandboxNames) {
  Egress egress = Offered();
  SelectServices(Parse("egress_services: 'forge'"), &egress);
  ASSERT_EQ(egress.policy().services_size(), 1);
  EXPECT_EQ(egress.policy().services(0).name(), "forge");
  ASSERT_EQ(egress.credentials_size(), 1);
  EXPECT_EQ(egress.credentials(0).service(), "forge");
  SelectServices(Parse(""), &egress);
  EXPECT_EQ(egress.policy().services_size(), 0);
  EXPECT_EQ(egress.credentials_size(), 0);
}

}  // namespace
}  // namespace server

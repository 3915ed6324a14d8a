#include "bridge/options/confinement_options.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bridge/options/option_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using corral::v1::Sandbox;
using ::testing::_;
using tests::IsOk;
using tests::StatusIs;

absl::Status Parse(const std::vector<std::string>& words, Sandbox& sandbox) {
  ConfinementOptions options;
  OptionTable table("test", "", "");
  options.AddTo(table);
  if (const auto parsed = table.Parse(words); !parsed.ok()) {
    return parsed.status();
  }
  return options.ApplyTo(sandbox);
}

TEST(ConfinementOptionsTest, GivesNoNetworkUnlessAsked) {
  Sandbox sandbox;
  EXPECT_THAT(Parse({}, sandbox), IsOk());
  EXPECT_EQ(sandbox.network(), Sandbox::NONE);
  EXPECT_EQ(sandbox.profile(), Sandbox::PROFILE_UNSPECIFIED);
}

TEST(ConfinementOptionsTest, TakesHostsAndAProfile) {
  Sandbox sandbox;
  EXPECT_THAT(
      Parse({"--allow-host", "a.example", "--profile", "Strict"}, sandbox),
      IsOk());
  EXPECT_EQ(sandbox.network(), Sandbox::ALLOW_LIST);
  EXPECT_EQ(sandbox.egress_rules(0).host(), "a.example");
  EXPECT_EQ(sandbox.profile(), Sandbox::STRICT);
}

TEST(ConfinementOptionsTest, TakesANetworkWithoutHosts) {
  Sandbox sandbox;
  EXPECT_THAT(Parse({"--network", "allow-list"}, sandbox), IsOk());
  EXPECT_EQ(sandbox.network(), Sandbox::ALLOW_LIST);
  EXPECT_THAT(Parse({"--network", "none"}, sandbox), IsOk());
  EXPECT_EQ(sandbox.network(), Sandbox::NONE);
}

TEST(ConfinementOptionsTest, TakesTheTextsOfAFile) {
  ConfinementOptions options;
  EXPECT_FALSE(options.IsClosed());
  EXPECT_THAT(options.SetNetwork("all"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "allowed is none and allow-list"));
  EXPECT_THAT(options.AddHost("https://a.example"),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(options.AddHost("a.example:80"), IsOk());
  Sandbox sandbox;
  EXPECT_THAT(options.ApplyTo(sandbox), IsOk());
  EXPECT_EQ(sandbox.egress_rules(0).ShortDebugString(),
            "host: \"a.example\" ports: 80");
  EXPECT_THAT(options.SetNetwork("none"), IsOk());
  EXPECT_TRUE(options.IsClosed());
  EXPECT_THAT(options.ApplyTo(sandbox),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--network none excludes --allow-host and --service"));
}

TEST(ConfinementOptionsTest, TakesServices) {
  Sandbox sandbox;
  EXPECT_THAT(Parse({"--service", "model", "--service", "forge"}, sandbox),
              IsOk());
  EXPECT_EQ(sandbox.network(), Sandbox::ALLOW_LIST);
  EXPECT_THAT(sandbox.egress_services(),
              ::testing::ElementsAre("model", "forge"));
}

TEST(ConfinementOptionsTest, RefusesOtherValues) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{
           {"--profile", "profile_unspecified"},
           {"--profile", "weak"},
           {"--network", "all"},
           {"--network", "none", "--service", "model"},
           {"--network", "none", "--allow-host", "a.example"}}) {
    Sandbox sandbox;
    EXPECT_THAT(Parse(words, sandbox),
                StatusIs(absl::StatusCode::kInvalidArgument, _))
        << words[1];
  }
}

}  // namespace
}  // namespace bridge

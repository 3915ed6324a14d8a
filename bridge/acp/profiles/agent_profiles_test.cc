#include "bridge/acp/profiles/agent_profiles.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/profiles/profiles_text.h"
#include "bridge/options/egress_options.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(AgentProfilesTest, AreAllOfTheText) {
  corral::config::v1::AgentProfiles read;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      static_cast<std::string>(sandbox::AgentProfilesText()), &read));
  EXPECT_GT(read.agent_size(), 3);
  EXPECT_EQ(KnownProfiles().DebugString(), read.DebugString());
}

TEST(AgentProfilesTest, AreFoundByName) {
  ASSERT_NE(ProfileNamed("codex"), nullptr);
  EXPECT_EQ(ProfileNamed("codex")->title(), "Codex");
  EXPECT_EQ(ProfileNamed("code"), nullptr);
  EXPECT_EQ(ProfileNamed(""), nullptr);
}

TEST(AgentProfilesTest, AreFoundByTheProgramsName) {
  for (const char* program :
       {"claude-code-acp", "/a/b/claude-agent-acp", "./claude-agent-acp"}) {
    ASSERT_NE(ProfileOf(program), nullptr) << program;
    EXPECT_EQ(ProfileOf(program)->name(), "claude");
  }
  EXPECT_EQ(ProfileOf("gemini")->name(), "gemini");
  for (const char* program : {"", "/gemini/", "gemini/x", "claude"}) {
    EXPECT_EQ(ProfileOf(program), nullptr) << program;
  }
}

TEST(AgentProfilesTest, NameEachOther) {
  EXPECT_THAT(ProfileNames(), StartsWith("claude, codex, "));
}

TEST(AgentProfilesTest, AreUnambiguous) {
  std::set<std::string> names;
  std::set<std::string> programs;
  for (const auto& profile : KnownProfiles().agent()) {
    EXPECT_THAT(profile.name(), MatchesRegex("[a-z0-9-]+"));
    // This word is for no profile.
    EXPECT_NE(profile.name(), "none");
    EXPECT_TRUE(names.insert(profile.name()).second) << profile.name();
    EXPECT_NE(profile.title(), "");
    EXPECT_GT(profile.state_size(), 0) << profile.name();
    for (const std::string& program : profile.program()) {
      EXPECT_TRUE(programs.insert(program).second) << program;
    }
  }
}

TEST(AgentProfilesTest, HaveHostsThatTheOptionWouldTake) {
  for (const auto& profile : KnownProfiles().agent()) {
    auto hosts = profile.allow_host();
    for (const auto& model : profile.model()) {
      EXPECT_THAT(model.service(), MatchesRegex("[a-z0-9-]+"));
      hosts.MergeFrom(model.allow_host());
    }
    EXPECT_GT(hosts.size(), 0) << profile.name();
    for (const std::string& host : hosts) {
      EXPECT_THAT(ParseEgressRule(host).status(), tests::IsOk()) << host;
    }
  }
}

TEST(AgentProfilesTest, LeadToTheServiceByItsNameInside) {
  for (const auto& profile : KnownProfiles().agent()) {
    for (const auto& model : profile.model()) {
      std::string values;
      for (const auto& variable : model.set()) {
        absl::StrAppend(&values, variable.value(), "\n");
      }
      EXPECT_TRUE(absl::StrContains(
          values, absl::StrCat("http://", model.service(), ".corral.internal")))
          << profile.name() << ": " << values;
    }
  }
}

}  // namespace
}  // namespace bridge

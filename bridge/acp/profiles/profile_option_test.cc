#include "bridge/acp/profiles/profile_option.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ProfileOptionTest : public ::testing::Test {
 protected:
  ProfileOptionTest() { option_.AddTo(table_); }

  absl::Status Parse(const std::vector<std::string>& words) {
    return table_.Parse(words).status();
  }
  // The profile's name; empty: there is none.
  std::string Choose(const std::string& program) {
    const auto* const profile = option_.Choose(program);
    return profile == nullptr ? "" : profile->name();
  }

  ProfileOption option_;
  OptionTable table_{"test", "", ""};
};

TEST_F(ProfileOptionTest, ChoosesByTheProgramIfItIsNotGiven) {
  EXPECT_FALSE(option_.is_given());
  EXPECT_EQ(Choose("/x/codex-acp"), "codex");
  EXPECT_EQ(Choose("unknown"), "");
}

TEST_F(ProfileOptionTest, ChoosesTheProfileThatItNames) {
  ASSERT_THAT(Parse({"--agent-profile", "kimi"}), tests::IsOk());
  EXPECT_TRUE(option_.is_given());
  EXPECT_EQ(Choose("/x/codex-acp"), "kimi");
  EXPECT_EQ(Choose("unknown"), "kimi");
}

TEST_F(ProfileOptionTest, ChoosesNoneIfItSaysSo) {
  ASSERT_THAT(Parse({"--agent-profile=none"}), tests::IsOk());
  EXPECT_TRUE(option_.is_given());
  EXPECT_EQ(Choose("codex-acp"), "");
}

TEST_F(ProfileOptionTest, RefusesAnUnknownNameAndListsTheKnownOnes) {
  for (const char* name : {"codex-acp", ""}) {
    EXPECT_THAT(
        Parse({std::string("--agent-profile=") + name}),
        tests::StatusIs(absl::StatusCode::kInvalidArgument,
                        AllOf(HasSubstr("--agent-profile"),
                              HasSubstr("none or one of claude, codex"))));
  }
}

TEST_F(ProfileOptionTest, ListsTheProfilesInTheHelp) {
  EXPECT_THAT(table_.Help(), HasSubstr("claude, codex, gemini"));
}

}  // namespace
}  // namespace bridge

#include "bridge/options/protection_options.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bridge/options/option_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

// Returns the workspace that the options describe.
corral::v1::Workspace Parse(HostTools host_tools,
                            const std::vector<std::string>& words) {
  ProtectionOptions options(host_tools);
  OptionTable table("test", "", "");
  options.AddTo(table);
  EXPECT_THAT(table.Parse(words).status(), IsOk());
  corral::v1::Workspace workspace;
  options.ApplyTo(workspace);
  return workspace;
}

absl::Status ErrorOf(const std::vector<std::string>& words) {
  ProtectionOptions options(HostTools::kProtected);
  OptionTable table("test", "", "");
  options.AddTo(table);
  return table.Parse(words).status();
}

TEST(ProtectionOptionsTest, TakeTheDefaultOfTheProgram) {
  for (const HostTools host_tools :
       {HostTools::kProtected, HostTools::kUnprotected}) {
    EXPECT_EQ(Parse(host_tools, {}).protect_host_tools(),
              host_tools == HostTools::kProtected);
    EXPECT_TRUE(
        Parse(host_tools, {"--protect-host-tools=yes"}).protect_host_tools());
    EXPECT_FALSE(
        Parse(host_tools, {"--protect-host-tools=no"}).protect_host_tools());
  }
}

TEST(ProtectionOptionsTest, StateTheDefaultOfTheProgram) {
  const auto help = [](HostTools host_tools) {
    ProtectionOptions options(host_tools);
    OptionTable table("test", "", "");
    options.AddTo(table);
    return table.Help();
  };
  EXPECT_THAT(help(HostTools::kProtected), HasSubstr("Default: yes."));
  EXPECT_THAT(help(HostTools::kUnprotected), HasSubstr("Default: no."));
}

TEST(ProtectionOptionsTest, NamePathsWithoutSlashesAtTheirEnds) {
  EXPECT_THAT(Parse(HostTools::kUnprotected,
                    {"--read-only-path", "ci", "--read-only-path=a/b//"})
                  .read_only_paths(),
              ElementsAre("ci", "a/b"));
}

TEST(ProtectionOptionsTest, RefuseTheProfileWhoseProgramsCouldMoveThePaths) {
  using corral::v1::Sandbox;
  const ProtectionOptions protects(HostTools::kProtected);
  EXPECT_THAT(protects.CheckProfile(Sandbox::NESTED),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs --protect-host-tools no")));
  EXPECT_THAT(protects.CheckProfile(Sandbox::DEBUG), IsOk());
  const ProtectionOptions nothing(HostTools::kUnprotected);
  EXPECT_THAT(nothing.CheckProfile(Sandbox::NESTED), IsOk());
}

TEST(ProtectionOptionsTest, RefuseWhatIsNoPathOfAWorkspace) {
  for (const char* path : {"", "/", "/etc"}) {
    EXPECT_THAT(ErrorOf({"--read-only-path", path}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("a path relative to the workspace")))
        << path;
  }
  EXPECT_THAT(ErrorOf({"--protect-host-tools", "true"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("allowed is yes or no")));
}

}  // namespace
}  // namespace bridge

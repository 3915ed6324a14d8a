#include "bridge/options/sandbox_options.h"

#include <unistd.h>

#include <climits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/options/option_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

absl::StatusOr<corral::v1::Sandbox> Parse(
    const std::vector<std::string>& words) {
  SandboxOptions options;
  OptionTable table("test", "", "");
  options.AddTo(table);
  if (const auto parsed = table.Parse(words); !parsed.ok()) {
    return parsed.status();
  }
  return options.Build();
}

TEST(SandboxOptionsTest, TakeTheCurrentDirectoryAndNothingElse) {
  char directory[PATH_MAX];
  ASSERT_NE(::getcwd(directory, sizeof directory), nullptr);
  EXPECT_EQ(Parse({})->ShortDebugString(),
            absl::StrCat("workspace { path: \"", directory,
                         "\" } limits { } network: NONE"));
  EXPECT_EQ(Parse({"-w", "sub"})->workspace().path(),
            absl::StrCat(directory, "/sub"));
}

TEST(SandboxOptionsTest, DescribeTheSandbox) {
  EXPECT_EQ(Parse({"--workspace", "/w", "--read-only", "--pids", "50",
                   "--output-limit", "1G", "--file-size", "4K", "--disk-speed",
                   "1M", "--disk-operations", "20", "--require", "seccomp",
                   "--require", "landlock"})
                ->ShortDebugString(),
            "workspace { path: \"/w\" read_only: true } "
            "limits { pids: 50 output_bytes: 1073741824 file_bytes: 4096 "
            "disk_bytes_per_second: 1048576 disk_operations_per_second: 20 } "
            "network: NONE "
            "required_protections: \"seccomp\" "
            "required_protections: \"landlock\"");
}

TEST(SandboxOptionsTest, HaveAllProcessesKilledWhenMemoryRunsOut) {
  EXPECT_TRUE(Parse({"--kill-all-on-oom"})->limits().kill_all_on_oom());
  EXPECT_FALSE(Parse({})->limits().has_kill_all_on_oom())
      << "the server's default counts";
}

TEST(SandboxOptionsTest, SayWhatCommandsMayReach) {
  const auto sandbox = Parse({"--profile", "strict", "--mount", "/m:/n:rw",
                              "--allow-host", "a.example"});
  ASSERT_THAT(sandbox.status(), IsOk());
  EXPECT_EQ(sandbox->profile(), corral::v1::Sandbox::STRICT);
  ASSERT_EQ(sandbox->mounts_size(), 1);
  EXPECT_EQ(sandbox->mounts(0).source(), "/m");
  EXPECT_EQ(sandbox->network(), corral::v1::Sandbox::ALLOW_LIST);
}

TEST(SandboxOptionsTest, SayWhatOfTheWorkspaceCommandsMayNotChange) {
  const auto sandbox = Parse(
      {"-w", "/w", "--read-only-path", "ci", "--protect-host-tools", "yes"});
  ASSERT_THAT(sandbox.status(), IsOk());
  EXPECT_EQ(sandbox->workspace().ShortDebugString(),
            "path: \"/w\" read_only_paths: \"ci\" protect_host_tools: true");
  EXPECT_THAT(
      Parse({"--profile", "nested", "--protect-host-tools", "yes"}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("--profile nested excludes")));
  EXPECT_THAT(Parse({"--profile", "nested", "--read-only",
                     "--protect-host-tools", "yes"})
                  .status(),
              IsOk());
  EXPECT_FALSE(Parse({"--no-workspace", "--protect-host-tools", "yes"})
                   ->has_workspace());
}

TEST(SandboxOptionsTest, ExplainWhatStandsForAVolume) {
  for (const char* option : {"-v", "--volume"}) {
    EXPECT_THAT(Parse({option, "/a:/b"}).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--mount SRC[:DST][:ro|rw] for others")));
  }
}

TEST(SandboxOptionsTest, LimitLifetimeAndRetentionByThemselves) {
  const struct {
    const char* option;
    const char* value;
    const char* field;
  } cases[] = {
      {"--max-age", "1s", "lifetime { max_age { seconds: 1 } }"},
      {"--idle-timeout", "365d",
       "lifetime { idle_timeout { seconds: 31536000 } }"},
      {"--lease", "10m", "lifetime { lease_timeout { seconds: 600 } }"},
      {"--keep-executions", "0", "retention { max_ended_executions: 0 }"},
      {"--keep-for", "1h", "retention { max_ended_age { seconds: 3600 } }"},
  };
  for (const auto& example : cases) {
    EXPECT_THAT(Parse({"--no-workspace", example.option, example.value})
                    ->ShortDebugString(),
                HasSubstr(example.field));
  }
  for (const char* option :
       {"--max-age", "--idle-timeout", "--lease", "--keep-for"}) {
    for (const char* value : {"999ms", "366d"}) {
      EXPECT_THAT(Parse({option, value}).status(),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr("allowed is 1s to 365d")));
    }
  }
}

TEST(SandboxOptionsTest, RefuseAWorkspaceThatIsNone) {
  EXPECT_FALSE(Parse({"--no-workspace"})->has_workspace());
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{
           {"--no-workspace", "-w", "/w"},
           {"--no-workspace", "--read-only"},
           {"--no-workspace", "--read-only-path", "ci"}}) {
    EXPECT_THAT(Parse(words).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--no-workspace excludes")));
  }
  EXPECT_THAT(Parse({"-w", "/a/../b"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the workspace: ")));
  EXPECT_THAT(Parse({"--no-workspace", "--network", "none", "--allow-host",
                     "a.example"})
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace bridge

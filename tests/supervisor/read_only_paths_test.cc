// Read-only paths of real sandboxes, and programs of the host that replace
// them. The test is the host.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;
using ::tests::ReadFile;
using ::tests::WriteFile;

class ReadOnlyPathsTest : public ::testing::Test {
 protected:
  ReadOnlyPathsTest() {
    fs::create_directories(Path(".git/hooks"));
    WriteFile(Path(".git/config"), "[core]\n");
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(sandbox_.workspace(), "/", name);
  }

  // Runs a shell line in the workspace and returns what it printed.
  static std::string Run(TestSandbox& sandbox, const std::string& id,
                         const std::string& script) {
    sandbox.Run(sandbox.Shell(id, script));
    return sandbox.Output(id, "stdout");
  }

  TestSandbox sandbox_;
};

TEST_F(ReadOnlyPathsTest, AreReadOnlyForEveryCommand) {
  sandbox_.spec().add_read_only_paths(".git/config");
  sandbox_.spec().add_read_only_paths(".vscode");
  ASSERT_THAT(sandbox_.Create(), IsOk());
  for (const char* id : {"e1", "e2"}) {
    EXPECT_EQ(Run(sandbox_, id,
                  "echo x >> .git/config || echo kept; "
                  "touch .vscode/tasks.json || echo kept; "
                  "touch .git/index && echo made"),
              "kept\nkept\nmade\n");
  }
  EXPECT_EQ(ReadFile(Path(".git/config")), "[core]\n");
}

TEST_F(ReadOnlyPathsTest, AreProtectedAgainWhenTheHostReplacesThem) {
  sandbox_.spec().add_read_only_paths(".git/config");
  ASSERT_THAT(sandbox_.Create(), IsOk());
  for (const char* id : {"e1", "e2"}) {
    WriteFile(Path(".git/config.lock"), "[user]\n");
    fs::rename(Path(".git/config.lock"), Path(".git/config"));
    EXPECT_EQ(Run(sandbox_, id,
                  "until grep -q '/.git/config ro,' /proc/self/mountinfo; "
                  "do :; done; echo x >> .git/config || echo kept"),
              "kept\n");
  }
  EXPECT_EQ(ReadFile(Path(".git/config")), "[user]\n");
}

TEST_F(ReadOnlyPathsTest, EndTheSandboxWhenTheyCannotBeProtectedAgain) {
  sandbox_.spec().add_read_only_paths(".git/hooks");
  ASSERT_THAT(sandbox_.Create(), IsOk());
  ASSERT_THAT(sandbox_.Start(sandbox_.Command("e1", {"/bin/sleep", "1000"})),
              IsOk());
  // In one step, so that no placeholder comes first.
  fs::create_directory_symlink("../hooks", Path("hooks"));
  ASSERT_EQ(::renameat2(AT_FDCWD, Path("hooks").c_str(), AT_FDCWD,
                        Path(".git/hooks").c_str(), RENAME_EXCHANGE),
            0);
  const wire::SandboxEnd end = sandbox_.recorder().WaitForGone();
  EXPECT_EQ(end.cause(), wire::SandboxEnd::PROTECTION_LOST);
  EXPECT_THAT(end.message(), HasSubstr(".git/hooks is a symbolic link"));
  sandbox_.Forget();
}

TEST_F(ReadOnlyPathsTest, LeaveNothingBehind) {
  sandbox_.spec().add_read_only_paths(".vscode");
  sandbox_.spec().add_read_only_paths(".git/commondir");
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_TRUE(fs::exists(Path(".vscode")));
  EXPECT_TRUE(fs::exists(Path(".git/commondir")));
  ASSERT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_FALSE(fs::exists(Path(".vscode")));
  EXPECT_FALSE(fs::exists(Path(".git/commondir")));
}

TEST_F(ReadOnlyPathsTest, StayForAnotherSandboxOfTheWorkspace) {
  TestSandbox other;
  other.spec().set_workspace(sandbox_.workspace());
  for (TestSandbox* sandbox : {&sandbox_, &other}) {
    sandbox->spec().add_read_only_paths(".vscode");
    ASSERT_THAT(sandbox->Create(), IsOk());
  }
  ASSERT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_TRUE(fs::exists(Path(".vscode")));
  EXPECT_EQ(Run(other, "e1", "touch .vscode/x || echo kept"), "kept\n");
  ASSERT_THAT(other.Delete(), IsOk());
  EXPECT_FALSE(fs::exists(Path(".vscode")));
}

TEST_F(ReadOnlyPathsTest, BelongToTheOwnerOfTheWorkspace) {
  ASSERT_EQ(::chown(sandbox_.workspace().c_str(), 1234, 1235), 0);
  sandbox_.spec().add_read_only_paths(".vscode");
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_EQ(Run(sandbox_, "e1", "stat -c %u:%g:%A .vscode"),
            "1000:1000:drwxr-xr-t\n");
}

TEST_F(ReadOnlyPathsTest, HaveNoEffectOnAReadOnlyWorkspace) {
  sandbox_.spec().set_workspace_read_only(true);
  sandbox_.spec().add_read_only_paths(".vscode");
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_FALSE(fs::exists(Path(".vscode")));
  EXPECT_EQ(Run(sandbox_, "e1", "mkdir .vscode || echo kept"), "kept\n");
}

TEST_F(ReadOnlyPathsTest, NameTheirWorkspaceWhenTheyAreRefused) {
  const std::string further = sandbox_.directory() + "/further";
  fs::create_directory(further);
  fs::create_symlink("x", further + "/.envrc");
  wire::SandboxSpec::FurtherWorkspace* const workspace =
      sandbox_.spec().add_further_workspaces();
  workspace->set_path(further);
  workspace->add_read_only_paths(".envrc");
  EXPECT_THAT(sandbox_.Create(),
              FailsWith(wire::Reply::READ_ONLY_PATH,
                        HasSubstr(absl::StrCat("workspace ", further,
                                               ": read-only path .envrc: "))));
}

}  // namespace
}  // namespace sandbox

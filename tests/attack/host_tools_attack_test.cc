// Attacks on the host by files of the workspace that its programs run or obey.
// The host's git is the program that is deceived, and a file that it would make
// is the effect.

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/read_only_paths.h"
#include "tests/attack/attack_test.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

class HostToolsAttackTest : public AttackTest {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/git", X_OK) != 0) {
      GTEST_SKIP() << "git is not installed";
    }
    OnHost("git init -q . && git commit -q --allow-empty -m begin");
    ASSERT_TRUE(fs::exists(sandbox_.workspace() + "/.git/HEAD"));
  }

  // Creates the sandbox with the default list, and makes what attacks use.
  void CreateProtected() {
    for (const char* path : server::kHostToolPaths) {
      spec().add_read_only_paths(path);
    }
    CreateArmed();
  }
  void CreateArmed() {
    Create();
    // A program that does harm on the host, and a repository that names it.
    Shell(absl::StrCat(
        "printf '#!/bin/sh\\ntouch ", Marker(),
        "\\nfalse\\n' > evil; chmod +x evil; cp -r .git evilgit; "
        "printf '[core]\\nfsmonitor = \"%s/evil\"\\n' $PWD >> evilgit/config; "
        "mkdir -p evilgit/hooks; cp evil evilgit/hooks/pre-commit"));
  }

  // Runs a line of the host's user in the workspace. Git must not find the
  // repository of these sources if an attack removes that of the workspace.
  void OnHost(const std::string& line) const {
    EXPECT_GE(::system(absl::StrCat("cd ", sandbox_.workspace(),
                                    " && export GIT_AUTHOR_NAME=a "
                                    "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
                                    "GIT_COMMITTER_EMAIL=a@b "
                                    "GIT_CEILING_DIRECTORIES=",
                                    sandbox_.directory(), "; { ", line,
                                    "; } >/dev/null 2>&1")
                           .c_str()),
              0);
  }
  std::string Marker() const { return sandbox_.directory() + "/marker"; }

  // Uses git on the host. Returns true if that ran the program.
  bool HostIsHarmed() const {
    OnHost("git status; git commit --allow-empty -m x; git checkout -b x");
    return fs::exists(Marker());
  }

  // Returns what is at and below the paths, by its name.
  std::map<std::string, std::string> Obeyed() const {
    std::map<std::string, std::string> found;
    for (const char* path : server::kHostToolPaths) {
      const std::string top = absl::StrCat(sandbox_.workspace(), "/", path);
      found[top] = Describe(top);
      if (!fs::is_directory(fs::symlink_status(top))) {
        continue;
      }
      for (const auto& entry : fs::recursive_directory_iterator(top)) {
        found[entry.path().string()] = Describe(entry.path());
      }
    }
    return found;
  }
  static std::string Describe(const fs::path& path) {
    const fs::file_status status = fs::symlink_status(path);
    std::string content;
    if (fs::is_regular_file(status)) {
      std::ifstream file(path);
      content.assign(std::istreambuf_iterator<char>(file), {});
    }
    return absl::StrCat(static_cast<int>(status.type()), " ",
                        static_cast<int>(status.permissions()), " ", content);
  }

  void ExpectNoEffectOf(const std::string& attempt) {
    const auto before = Obeyed();
    const std::string output = Shell(absl::StrCat("(", attempt, ") 2>&1"));
    EXPECT_EQ(Obeyed(), before) << attempt << ": " << output;
    EXPECT_FALSE(HostIsHarmed()) << attempt << ": " << output;
  }
};

// Shows that the other tests would notice an attack.
TEST_F(HostToolsAttackTest, AHookThatIsNotProtectedRunsOnTheHost) {
  CreateArmed();
  EXPECT_FALSE(HostIsHarmed());
  Shell("mkdir -p .git/hooks; cp evil .git/hooks/pre-commit");
  EXPECT_TRUE(HostIsHarmed());
}

TEST_F(HostToolsAttackTest, TheConfigurationOfGitStaysAsItIs) {
  CreateProtected();
  for (const char* attempt :
       {"git config core.fsmonitor $PWD/evil",
        "git config core.hooksPath $PWD/evilgit/hooks",
        "cat evilgit/config >> .git/config",
        "cp evilgit/config .git/config",
        "rm -f .git/config",
        "mv .git/config .git/old; cp evilgit/config .git/config",
        "cp evilgit/config .git/new; mv -f .git/new .git/config",
        "mv -fT evilgit/config .git/config",
        "ln .git/config hard && cat evilgit/config >> hard",
        "cp evilgit/config x; ln -f x .git/config",
        "ln -sfn ../x .git/config",
        "exec 3< .git/config; cat evilgit/config > /proc/self/fd/3",
        "cat evilgit/config > /proc/self/cwd/.git/config",
        "truncate -s 0 .git/config",
        "chmod 777 .git/config",
        "cat evilgit/config > .git/config.worktree",
        "rm .git/config.worktree; cp evilgit/config .git/config.worktree",
        "printf ../evilgit > .git/commondir",
        "rm -f .git/commondir; printf ../evilgit > .git/commondir",
        "printf ../evilgit > x; mv -f x .git/commondir"}) {
    ExpectNoEffectOf(attempt);
  }
  ExpectUsable();
}

TEST_F(HostToolsAttackTest, HooksAndSettingsOfEditorsStayAsTheyAre) {
  CreateProtected();
  for (const char* attempt :
       {"cp evil .git/hooks/pre-commit", "rm -rf .git/hooks",
        "mv .git/hooks .git/old; cp -r evilgit/hooks .git/hooks",
        "mv -T evilgit/hooks .git/hooks", "cd .git/hooks && cp ../../evil x",
        "ln -sfn ../evilgit/hooks .git/hooks",
        "chmod -R 777 .git/hooks .vscode", "touch -d 1970-01-01 .git/hooks",
        "mkdir -p .git/modules/x/hooks", "mkdir -p .git/worktrees/x",
        "echo x > .vscode/tasks.json", "rmdir .vscode; mkdir .vscode",
        "mv .vscode v; mkdir .vscode", "ln -sfn evilgit .idea",
        "rmdir .envrc; echo x > .envrc", "mv -T evilgit .zed"}) {
    ExpectNoEffectOf(attempt);
  }
  ExpectUsable();
}

TEST_F(HostToolsAttackTest, TheRepositoryCannotBeExchanged) {
  CreateProtected();
  for (const char* attempt :
       {"mv .git old; cp -r evilgit .git", "mv -T evilgit .git",
        "mv .git old; echo gitdir: $PWD/evilgit > .git",
        "cd .git && mv ../.git ../old", "ln -sfn evilgit .git",
        "mount --bind evilgit .git", "mount --bind evilgit/hooks .git/hooks",
        "umount .git/hooks", "umount -l .git",
        "mount -o remount,bind,rw .git/hooks",
        "unshare -Urm sh -c 'umount -l .git; mv .git old'",
        // Leaves what is protected, and another repository around it.
        "rm -rf .git; cp -rn evilgit/. .git"}) {
    ExpectNoEffectOf(attempt);
  }
  ExpectUsable();
}

TEST_F(HostToolsAttackTest, ALinkThatWasLeftBehindIsRefused) {
  Create();
  Shell("mv .git/hooks hooks; ln -s ../hooks .git/hooks");
  sandbox::TestSandbox next;
  next.spec().set_workspace(sandbox_.workspace());
  next.spec().add_read_only_paths(".git/hooks");
  EXPECT_THAT(next.Create(),
              FailsWith(sandbox::wire::Reply::READ_ONLY_PATH,
                        HasSubstr("is a symbolic link (to ../hooks)")));
}

TEST_F(HostToolsAttackTest, AnotherNameOfAFileIsRefused) {
  Create();
  Shell("ln .git/config hard");
  sandbox::TestSandbox next;
  next.spec().set_workspace(sandbox_.workspace());
  next.spec().add_read_only_paths(".git/config");
  EXPECT_THAT(next.Create(), FailsWith(sandbox::wire::Reply::READ_ONLY_PATH,
                                       HasSubstr("has 2 names (hard links)")));
}

TEST_F(HostToolsAttackTest, AnotherSandboxOpensTheRepositoryForAMomentOnly) {
  CreateProtected();
  sandbox::TestSandbox other;
  other.spec().set_workspace(sandbox_.workspace());
  ASSERT_THAT(other.Create(), IsOk());
  other.Run(other.Shell("e1", "cp -r .git new; mv .git old; mv -T new .git"));
  EXPECT_EQ(Shell("until grep -q '/.git/hooks ro,' /proc/self/mountinfo && "
                  "grep -q '/.git/config ro,' /proc/self/mountinfo; do :; "
                  "done; echo protected"),
            "protected\n");
  ExpectNoEffectOf(
      "cp evil .git/hooks/pre-commit; cat evilgit/config >> "
      ".git/config; mv .git older");
}

}  // namespace
}  // namespace tests

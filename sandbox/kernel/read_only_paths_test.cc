// Tests in a mount namespace of their own, as root, whom only mounts stop.

#include "sandbox/kernel/read_only_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/own_mounts_fixture.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

// Returns "done", or why the call failed.
std::string Outcome(int result) {
  return result < 0 ? std::strerror(errno) : "done";
}

constexpr char kReadOnly[] = "Read-only file system";
constexpr char kBusy[] = "Device or resource busy";
constexpr int kMoves = 1000;

class ReadOnlyPathsTest : public OwnMountsTest {
 protected:
  // Makes a repository with these parts only.
  void MakeRepository() const {
    fs::create_directories(Path(".git/hooks"));
    tests::WriteFile(Path(".git/config"), "[core]\n");
  }

  std::unique_ptr<ReadOnlyPaths> Paths(const std::vector<std::string>& paths,
                                       uint32_t user = 0) const {
    return std::make_unique<ReadOnlyPaths>(
        UniqueFd(::fcntl(workspace_.get(), F_DUPFD_CLOEXEC, 0)), "/w", paths,
        user);
  }

  // Ends the protection, as a supervisor does from outside of the mounts.
  void End(std::unique_ptr<ReadOnlyPaths>& paths) const {
    OnHost([&paths] { paths.reset(); });
  }

  std::string Write(const std::string& name) const {
    const UniqueFd file(::open(
        Path(name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    return Outcome(file.get());
  }
  std::string Rename(const std::string& from, const std::string& to) const {
    return Outcome(std::rename(Path(from).c_str(), Path(to).c_str()));
  }
  std::string Remove(const std::string& name) const {
    return Outcome(std::remove(Path(name).c_str()));
  }
};

TEST_F(ReadOnlyPathsTest, KeepWhatExistsAsItIs) {
  MakeRepository();
  const auto paths = Paths({".git/config", ".git/hooks"});
  // One of the mounts is that of .git.
  EXPECT_EQ(paths->Cover().value_or(0), 3);
  EXPECT_EQ(Write(".git/config"), kReadOnly);
  EXPECT_EQ(Write(".git/hooks/pre-commit"), kReadOnly);
  EXPECT_EQ(Outcome(::chmod(Path(".git/hooks").c_str(), 0700)), kReadOnly);
  EXPECT_EQ(Write(".git/index"), "done");
  for (const char* name : {".git/config", ".git/hooks", ".git"}) {
    EXPECT_EQ(Rename(name, absl::StrCat(name, ".old")), kBusy) << name;
    EXPECT_EQ(Remove(name), kBusy) << name;
  }
  EXPECT_EQ(Rename(".git/index", ".git/config"), kBusy);
  EXPECT_EQ(Outcome(::link(Path(".git/config").c_str(), Path("hard").c_str())),
            "Invalid cross-device link");
  EXPECT_EQ(Outcome(::renameat2(AT_FDCWD, Path(".git/index").c_str(), AT_FDCWD,
                                Path(".git/config").c_str(), RENAME_EXCHANGE)),
            kBusy);
  EXPECT_EQ(tests::ReadFile(Path(".git/config")), "[core]\n");
}

TEST_F(ReadOnlyPathsTest, AreCoveredOnce) {
  MakeRepository();
  const auto paths = Paths({".git", ".git/config", ".vscode", "a/b/c"});
  EXPECT_EQ(paths->Cover().value_or(0), 3);
  EXPECT_EQ(paths->Cover().value_or(-1), 0);
  EXPECT_EQ(Write(".git/index"), kReadOnly);
}

TEST_F(ReadOnlyPathsTest, KeepAFileThatStandsInTheWay) {
  tests::WriteFile(Path(".git"), "gitdir: /elsewhere\n");
  const auto paths = Paths({".git/config", ".git/hooks"});
  EXPECT_EQ(paths->Cover().value_or(0), 1);
  EXPECT_EQ(Write(".git"), kReadOnly);
  EXPECT_EQ(Rename(".git", "moved"), kBusy);
}

TEST_F(ReadOnlyPathsTest, CannotBeMadeWhileTheyDoNotExist) {
  MakeRepository();
  auto paths = Paths(
      {".vscode", ".git/commondir", ".git/config.worktree", ".git/modules"});
  ASSERT_THAT(paths->Cover().status(), IsOk());
  EXPECT_TRUE(fs::is_directory(Path(".vscode")));
  EXPECT_TRUE(fs::is_directory(Path(".git/modules")));
  EXPECT_EQ(tests::ReadFile(Path(".git/commondir")), ".\n");
  EXPECT_TRUE(fs::is_empty(Path(".git/config.worktree")));
  EXPECT_EQ(Write(".vscode/tasks.json"), kReadOnly);
  EXPECT_EQ(Write(".git/commondir"), kReadOnly);
  EXPECT_EQ(Rename(".vscode", "moved"), kBusy);
  EXPECT_EQ(Remove(".git/commondir"), kBusy);
  End(paths);
  for (const char* name :
       {".vscode", ".git/commondir", ".git/config.worktree", ".git/modules"}) {
    EXPECT_FALSE(fs::exists(Path(name))) << name;
  }
  EXPECT_TRUE(fs::exists(Path(".git/hooks")));
}

TEST_F(ReadOnlyPathsTest, NeedOneDirectoryForAllThatIsMissingBelowIt) {
  auto paths = Paths({"ci/a", "ci/b/c"});
  EXPECT_EQ(paths->Cover().value_or(0), 1);
  EXPECT_TRUE(fs::is_empty(Path("ci")));
  EXPECT_EQ(Outcome(::mkdir(Path("ci/a").c_str(), 0755)), kReadOnly);
  EXPECT_EQ(Rename("ci", "moved"), kBusy);
  End(paths);
  EXPECT_FALSE(fs::exists(Path("ci")));
}

TEST_F(ReadOnlyPathsTest, MakeNoRepositoryWhereNoneIs) {
  const auto paths = Paths({".git/commondir", ".git/config", ".git/hooks"});
  EXPECT_EQ(paths->Cover().value_or(-1), 0);
  EXPECT_FALSE(fs::exists(Path(".git")));
}

TEST_F(ReadOnlyPathsTest, MakeARepositoryThatIsNamedItself) {
  auto paths = Paths({".git"});
  EXPECT_EQ(paths->Cover().value_or(0), 1);
  EXPECT_TRUE(fs::is_empty(Path(".git")));
  EXPECT_EQ(Outcome(::mkdir(Path(".git/hooks").c_str(), 0755)), kReadOnly);
  End(paths);
}

TEST_F(ReadOnlyPathsTest, KeepTheRepositoryThatTheHostHasRemoved) {
  MakeRepository();
  auto paths = Paths({".git/config", ".git/hooks"});
  ASSERT_THAT(paths->Cover().status(), IsOk());
  OnHost([this] { fs::remove_all(Path(".git")); });
  EXPECT_EQ(paths->Cover().value_or(0), 1);
  EXPECT_EQ(Outcome(::mkdir(Path(".git/hooks").c_str(), 0755)), kReadOnly);
  EXPECT_EQ(Rename(".git", "moved"), kBusy);
  End(paths);
}

TEST_F(ReadOnlyPathsTest, MustNotBeLinksNorLeadThroughThem) {
  fs::create_directories(Path("real/hooks"));
  fs::create_directory_symlink("real", Path(".git"));
  fs::create_symlink("/etc/passwd", Path(".envrc"));
  for (const char* path : {".git/hooks", ".git", ".envrc"}) {
    EXPECT_THAT(Paths({path})->Cover().status(),
                FailsWith(wire::Reply::READ_ONLY_PATH,
                          ::testing::AllOf(
                              HasSubstr(absl::StrCat(
                                  "workspace /w: read-only path ", path, ": ")),
                              HasSubstr("is a symbolic link (to "))));
  }
  // A link that leads nowhere, too.
  fs::create_symlink("nowhere", Path(".vscode"));
  EXPECT_THAT(Paths({".vscode/x"})->Cover().status(),
              FailsWith(wire::Reply::READ_ONLY_PATH, HasSubstr("to nowhere")));
  EXPECT_EQ(Write("real/hooks/x"), "done");
}

TEST_F(ReadOnlyPathsTest, MustNotBeFilesWithAnotherName) {
  tests::WriteFile(Path("file"), "");
  fs::create_hard_link(Path("file"), Path("other"));
  EXPECT_THAT(Paths({"file"})->Cover().status(),
              FailsWith(wire::Reply::READ_ONLY_PATH,
                        HasSubstr("file has 2 names (hard links)")));
}

TEST_F(ReadOnlyPathsTest, AreCoveredAgainWhenTheHostHasReplacedThem) {
  MakeRepository();
  const auto paths = Paths({".git/config", ".git/hooks", ".vscode"});
  ASSERT_THAT(paths->Cover().status(), IsOk());
  // Git and editors replace a file like this.
  OnHost([this] {
    tests::WriteFile(Path(".git/config.lock"), "[user]\n");
    EXPECT_EQ(Rename(".git/config.lock", ".git/config"), "done");
    EXPECT_EQ(Remove(".vscode"), "done");
  });
  EXPECT_EQ(Write(".git/config"), "done");
  EXPECT_EQ(paths->Cover().value_or(0), 2);
  EXPECT_EQ(Write(".git/config"), kReadOnly);
  EXPECT_EQ(Write(".vscode/tasks.json"), kReadOnly);
  OnHost([this] {
    EXPECT_EQ(Rename(".git", "old"), "done");
    fs::create_directory(Path(".git"));
    tests::WriteFile(Path(".git/config"), "");
  });
  // With .git itself.
  EXPECT_EQ(paths->Cover().value_or(0), 3);
  EXPECT_EQ(Write(".git/config"), kReadOnly);
  EXPECT_EQ(Write(".git/hooks/x"), kReadOnly);
  EXPECT_EQ(Rename(".git", "moved"), kBusy);
}

TEST_F(ReadOnlyPathsTest, AreCoveredInTheRepositoryThatReplacesAnother) {
  MakeRepository();
  auto paths = Paths({".git/commondir", ".git/config"});
  ASSERT_THAT(paths->Cover().status(), IsOk());
  OnHost([this] {
    EXPECT_EQ(Rename(".git", "old"), "done");
    MakeRepository();
  });
  // The placeholder for .git/commondir went away with the old repository.
  EXPECT_EQ(paths->Cover().value_or(0), 3);
  EXPECT_EQ(Write(".git/commondir"), kReadOnly);
  EXPECT_EQ(Write(".git/config"), kReadOnly);
  EXPECT_EQ(Write(".git/index"), "done");
  EXPECT_EQ(Write("old/commondir"), kReadOnly);
  End(paths);
  EXPECT_FALSE(fs::exists(Path(".git/commondir")));
  EXPECT_FALSE(fs::exists(Path("old/commondir")));
}

TEST_F(ReadOnlyPathsTest, LeaveARepositoryWritableThatComesAndGoes) {
  MakeRepository();
  const auto paths = Paths({".git/config", ".git/hooks"});
  ASSERT_THAT(paths->Cover().status(), IsOk());
  std::atomic<bool> moving = true;
  std::thread host([this, &moving] {
    OnHost([this] {
      for (int i = 0; i < kMoves; ++i) {
        EXPECT_EQ(Rename(".git", "old"), "done");
        // Waits for the placeholder, which the repository then replaces.
        while (!fs::exists(Path(".git"))) {
        }
        EXPECT_EQ(Rename("old", ".git"), "done");
      }
    });
    moving = false;
  });
  while (moving) {
    (void)paths->Cover();
  }
  host.join();
  EXPECT_THAT(paths->Cover().status(), IsOk());
  EXPECT_EQ(Write(".git/index"), "done");
  EXPECT_EQ(Write(".git/config"), kReadOnly);
  EXPECT_EQ(Write(".git/hooks/x"), kReadOnly);
}

TEST_F(ReadOnlyPathsTest, AreNotCoveredAgainWhenALinkTookTheirPlace) {
  MakeRepository();
  const auto paths = Paths({".git/hooks"});
  ASSERT_THAT(paths->Cover().status(), IsOk());
  OnHost([this] {
    EXPECT_EQ(Rename(".git/hooks", "hooks"), "done");
    fs::create_directory_symlink("../hooks", Path(".git/hooks"));
  });
  EXPECT_THAT(paths->Cover().status(),
              FailsWith(wire::Reply::READ_ONLY_PATH,
                        HasSubstr(".git/hooks is a symbolic link")));
}

TEST_F(ReadOnlyPathsTest, ShareTheirPlaceholdersWithOtherSandboxes) {
  auto one = Paths({".vscode"});
  auto two = Paths({".vscode"});
  ASSERT_THAT(one->Cover().status(), IsOk());
  ASSERT_THAT(two->Cover().status(), IsOk());
  End(one);
  EXPECT_TRUE(fs::exists(Path(".vscode")));
  End(two);
  EXPECT_FALSE(fs::exists(Path(".vscode")));
}

TEST_F(ReadOnlyPathsTest, NeedNothingWhereNoCommandCanMakeAnything) {
  // A directory of root, for commands of another user.
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  const auto of_other = Paths({".vscode"}, /*user=*/1234);
  EXPECT_EQ(of_other->Cover().value_or(-1), 0);
  EXPECT_FALSE(fs::exists(Path(".vscode")));
  // The user's own directory could be made writable.
  ASSERT_EQ(::chown(path_.c_str(), 1234, 1234), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0555), 0);
  EXPECT_THAT(of_other->Cover().status(),
              FailsWith(wire::Reply::READ_ONLY_PATH,
                        HasSubstr("make the directory .vscode: Permission "
                                  "denied")));
  // Nor in a directory that is no more.
  const auto paths = Paths({".vscode"});
  OnHost([this] { fs::remove(path_); });
  EXPECT_EQ(paths->Cover().value_or(-1), 0);
}

TEST_F(ReadOnlyPathsTest, SayWhichStepTheHostRefuses) {
  fs::create_directory(Path("dir"));
  for (const int call : {SYS_openat2, SYS_newfstatat, SYS_move_mount}) {
    absl::Status failed;
    ASSERT_TRUE(tests::WithFailingCalls(
        {call}, EIO, [&] { failed = Paths({"dir"})->Cover().status(); }));
    EXPECT_THAT(failed, FailsWith(wire::Reply::READ_ONLY_PATH,
                                  HasSubstr("Input/output error")))
        << call;
  }
  EXPECT_EQ(Write("dir/file"), "done");
}

}  // namespace
}  // namespace sandbox

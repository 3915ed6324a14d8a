// Paths of a sandbox without commands. The test is the host.

#include "sandbox/supervisor/path_protection.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/read_only_paths.h"
#include "sandbox/supervisor/construction.h"
#include "sandbox/supervisor/construction_fixture.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::FailsWith;
using ::tests::IsOk;

class PathProtectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::canonical(::testing::TempDir()).string() + "/protection_XXXXXX";
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
    fs::create_directories(path_ + "/.git/hooks");
    tests::WriteFile(path_ + "/.git/config", "[core]\n");
    absl::StatusOr<Ground> ground = Prepare();
    ASSERT_THAT(ground.status(), IsOk());
    ground_ = *std::move(ground);
    absl::StatusOr<Construction> made = ConstructOn(ground_);
    ASSERT_THAT(made.status(), IsOk());
    made_ = *std::move(made);
    Particulars particulars;
    particulars.workspaces.push_back(
        {path_, /*read_only=*/false, ground_.ids.first_id()});
    particulars.workspaces.back().read_only_paths = {"any"};
    absl::StatusOr<std::vector<UniqueFd>> mounts = Complete(made_, particulars);
    if (FailureOf(mounts.status()) == wire::Reply::ISOLATION) {
      GTEST_SKIP() << mounts.status();
    }
    ASSERT_THAT(mounts.status(), IsOk());
    ASSERT_EQ(mounts->size(), 1);
    inside_ = std::move(mounts->front());
  }

  void TearDown() override {
    End();
    fs::remove_all(path_);
  }

  // Ends the sandbox as a supervisor does.
  void End() {
    for (const Child* child : {&made_.init, &made_.spawner}) {
      if (child->pid > 0) {
        ::kill(child->pid, SIGKILL);
      }
    }
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    protection_.reset();
  }

  absl::Status Protect(const std::vector<std::string>& paths) {
    std::vector<ReadOnlyPaths> all;
    all.emplace_back(UniqueFd(::fcntl(inside_.get(), F_DUPFD_CLOEXEC, 0)),
                     path_, paths, ground_.ids.first_id() + kCommandId);
    absl::StatusOr<std::unique_ptr<PathProtection>> begun =
        PathProtection::Begin(loop_.get(), made_.init, std::move(all),
                              [this](const absl::Status& why) {
                                lost_ = why;
                                protection_.reset();
                                loop_->Stop();
                              });
    if (begun.ok()) {
      protection_ = *std::move(begun);
    }
    return begun.status();
  }

  // Writes by the sandbox's mounts. Returns "done", or why not.
  std::string WriteInside(const std::string& name) const {
    const UniqueFd file(
        ::openat(inside_.get(), name.c_str(), O_WRONLY | O_CLOEXEC));
    return file.valid() ? "done" : std::strerror(errno);
  }
  // Replaces a file as git does.
  void Replace(const std::string& name) const {
    tests::WriteFile(absl::StrCat(path_, "/", name, ".lock"), "[user]\n");
    fs::rename(absl::StrCat(path_, "/", name, ".lock"),
               absl::StrCat(path_, "/", name));
  }
  // The process that covers the paths.
  pid_t Keeper() const {
    for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
      std::ifstream children(entry.path() / "children");
      for (pid_t child; children >> child;) {
        if (tests::ReadFile(absl::StrCat("/proc/", child, "/comm")) ==
            "corral-paths\n") {
          return child;
        }
      }
    }
    return -1;
  }

  const std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  std::string path_;
  Ground ground_;
  Construction made_;
  UniqueFd inside_;
  std::unique_ptr<PathProtection> protection_;
  absl::Status lost_;
};

constexpr char kReadOnly[] = "Read-only file system";

TEST_F(PathProtectionTest, HoldsInsideOnly) {
  ASSERT_THAT(Protect({".git/config"}), IsOk());
  EXPECT_EQ(WriteInside(".git/config"), kReadOnly);
  tests::WriteFile(path_ + "/.git/config", "[user]\n");
  EXPECT_EQ(tests::ReadFile(path_ + "/.git/config"), "[user]\n");
}

TEST_F(PathProtectionTest, IsRestoredWhenTheHostReplacesAFile) {
  ASSERT_THAT(Protect({".git/config"}), IsOk());
  for (int i = 0; i < 3; ++i) {
    Replace(".git/config");
    while (WriteInside(".git/config") != kReadOnly) {
      ::sched_yield();
    }
  }
  EXPECT_EQ(tests::ReadFile(path_ + "/.git/config"), "[user]\n");
}

TEST_F(PathProtectionTest, RemovesItsPlaceholdersWithTheSandbox) {
  ASSERT_THAT(Protect({".vscode", ".git/commondir"}), IsOk());
  struct stat status;
  ASSERT_EQ(::stat((path_ + "/.vscode").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, ::getuid());
  EXPECT_EQ(WriteInside(".git/commondir"), kReadOnly);
  fs::remove(path_ + "/.vscode");
  while (!fs::exists(path_ + "/.vscode")) {
    ::sched_yield();
  }
  End();
  EXPECT_FALSE(fs::exists(path_ + "/.vscode"));
  EXPECT_FALSE(fs::exists(path_ + "/.git/commondir"));
}

TEST_F(PathProtectionTest, ReportsAPathThatItCannotCoverAgain) {
  ASSERT_THAT(Protect({".git/hooks"}), IsOk());
  // In one step, so that no placeholder comes first.
  const std::string hooks = path_ + "/.git/hooks";
  const std::string old = path_ + "/.git/old";
  fs::create_directory_symlink("old", old);
  ASSERT_EQ(::renameat2(AT_FDCWD, old.c_str(), AT_FDCWD, hooks.c_str(),
                        RENAME_EXCHANGE),
            0);
  loop_->Run();
  EXPECT_THAT(lost_,
              FailsWith(wire::Reply::READ_ONLY_PATH,
                        HasSubstr(absl::StrCat("workspace ", path_,
                                               ": read-only path .git/hooks: "
                                               ".git/hooks is a symbolic "
                                               "link (to old)"))));
  EXPECT_EQ(protection_, nullptr);
}

TEST_F(PathProtectionTest, FailsWithThePathThatCannotBeCovered) {
  fs::create_symlink("x", path_ + "/.envrc");
  EXPECT_THAT(Protect({".envrc", ".vscode"}),
              FailsWith(wire::Reply::READ_ONLY_PATH, HasSubstr(".envrc")));
  EXPECT_FALSE(fs::exists(path_ + "/.vscode"));
}

TEST_F(PathProtectionTest, IsLostWithItsProcess) {
  ASSERT_THAT(Protect({".git/config"}), IsOk());
  const pid_t keeper = Keeper();
  ASSERT_GT(keeper, 0);
  ::kill(keeper, SIGKILL);
  loop_->Run();
  EXPECT_THAT(std::string(lost_.message()), HasSubstr("has ended"));
}

// Returns the effective capabilities of a process; 0 stands for this one.
uint64_t CapabilitiesOf(pid_t pid) {
  const std::string status = tests::ReadFile(
      pid == 0 ? "/proc/self/status" : absl::StrCat("/proc/", pid, "/status"));
  constexpr char kField[] = "\nCapEff:\t";
  return std::stoull(status.substr(status.find(kField) + sizeof(kField) - 1),
                     nullptr, 16);
}

TEST_F(PathProtectionTest, HasOnlyTheRightsThatItNeeds) {
  ASSERT_THAT(Protect({".git/config"}), IsOk());
  uint64_t needed = 0;
  for (const int capability :
       {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_SETGID,
        CAP_SETUID, CAP_SYS_ADMIN}) {
    needed |= uint64_t{1} << capability;
  }
  EXPECT_EQ(CapabilitiesOf(Keeper()), needed & CapabilitiesOf(0));
}

TEST_F(PathProtectionTest, OutlivesASupervisorThatWasKilledUntilInitHasEnded) {
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    if (Protect({".vscode"}).ok()) {
      ::raise(SIGKILL);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(supervisor, &status, 0), supervisor);
  ASSERT_EQ(status, SIGKILL);
  EXPECT_TRUE(fs::exists(path_ + "/.vscode"));
  End();
  while (fs::exists(path_ + "/.vscode")) {
    ::sched_yield();
  }
}

TEST_F(PathProtectionTest, SaysThatInitWasKilled) {
  ::kill(made_.init.pid, SIGKILL);
  siginfo_t info;
  // Init ends only when the spawner was reaped.
  ASSERT_EQ(::waitid(P_PIDFD, static_cast<id_t>(made_.spawner.pidfd.get()),
                     &info, WEXITED),
            0);
  made_.spawner.pid = 0;
  ASSERT_EQ(::waitid(P_PIDFD, static_cast<id_t>(made_.init.pidfd.get()), &info,
                     WEXITED | WNOWAIT),
            0);
  const absl::Status failed = Protect({".git/config"});
  EXPECT_TRUE(absl::IsAborted(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()), StartsWith("init was killed"));
}

}  // namespace
}  // namespace sandbox

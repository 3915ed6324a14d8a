// Sandboxes of root in a container: a user namespace with 65536 ids, a mount
// namespace with a read-only /sys, and a control group of its own on hosts with
// cgroup v2.

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/supervisor/unprivileged_fixture.h"
#include "tests/supervisor/unprivileged_process.h"

namespace sandbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::FailsWith;
using ::tests::IsOk;

// Enters a container, with groups if the host has some.
std::string Enter() {
  const std::string why = tests::EnterContainer(tests::Groups::kItsOwn);
  return why == tests::kNoGroups
             ? tests::EnterContainer(tests::Groups::kOfOthers)
             : why;
}

class ContainerTest : public UnprivilegedTest {};

TEST_F(ContainerTest, RunsCommandsWithoutGroupsAndCapabilities) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("id -u; id -G; exit 7"), "1000\n1000\n");
  EXPECT_EQ(WEXITSTATUS(last_.exit().wait_status()), 7);
  EXPECT_EQ(Shell("grep CapBnd /proc/self/status | tr -d '\\t'"),
            "CapBnd:0000000000000000\n");
}

TEST_F(ContainerTest, WritesToTheWorkspaceAsItsRoot) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("echo text > file && cat file"), "text\n");
  struct stat file = {};
  ASSERT_EQ(::stat((sandbox_->workspace() + "/file").c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, 0u);
}

TEST_F(ContainerTest, ShowsFileSystemsBelowAWorkspace) {
  // The kernel lets nobody in the container see what they cover.
  sandbox_->spec().set_workspace(tests::OwnDirectory() + "/covered");
  sandbox_->spec().set_workspace_read_only(true);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(Shell("ls below; echo x > below/x"),
              AllOf(StartsWith("inner\n"), HasSubstr("Read-only")));
}

TEST_F(ContainerTest, NamesTheRemedyIfItsProcIsCovered) {
  ASSERT_EQ(::mount("tmpfs", "/proc/fs", "tmpfs", 0, nullptr), 0);
  // With a spare supervisor that finds it so.
  sandbox_.emplace();
  const absl::Status created = sandbox_->Create();
  sandbox_.reset();
  ASSERT_EQ(::umount2("/proc/fs", MNT_DETACH), 0);
  EXPECT_THAT(created, FailsWith(wire::Reply::ISOLATION,
                                 AllOf(HasSubstr("a /proc of its own"),
                                       HasSubstr("systempaths=unconfined"))));
}

TEST_F(ContainerTest, LimitsProcesses) {
  sandbox_->spec().set_pids(20);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(
      Shell("for i in $(seq 40); do sleep 1000 > /dev/null 2>&1 & done"),
      HasSubstr("fork"));
}

TEST_F(ContainerTest, LimitsCpusOnlyWithGroups) {
  const bool has_groups = CgroupHost::Find().ok();
  sandbox_->spec().set_cpu_millis(500);
  const absl::Status created = sandbox_->Create();
  if (has_groups) {
    EXPECT_THAT(created, IsOk());
  } else {
    EXPECT_THAT(created, FailsWith(wire::Reply::ISOLATION,
                                   HasSubstr("needs control groups")));
  }
}

}  // namespace
}  // namespace sandbox

int main(int argc, char** argv) {
  return tests::RunTests(argc, argv, sandbox::Enter);
}

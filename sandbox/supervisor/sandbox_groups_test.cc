#include "sandbox/supervisor/sandbox_groups.h"

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"
#include "sandbox/supervisor/command_group.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::tests::IsOk;

class SandboxGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }

  SandboxGroups groups_;
};

TEST_F(SandboxGroupsTest, AreRemovedWithAllThatIsBelowThem) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  ASSERT_THAT(host.status(), IsOk());
  ASSERT_THAT(groups_.Create(*host), IsOk());
  const std::string name =
      absl::StrCat(kSandboxCgroup, groups_.first_id() >> 16);
  ASSERT_THAT(groups_.sandbox().HandOn(), IsOk());
  ASSERT_THAT(groups_.CreateRun(), IsOk());
  {
    const auto group = groups_.MakeCommandGroup("e-1");
    ASSERT_THAT(group.status(), IsOk());
    ::testing::internal::CaptureStderr();
    groups_.Remove();
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("cannot remove the sandbox's control group"));
    EXPECT_EQ(Cgroup::List(*host).count(name), 1u) << "a group lives in it";
    EXPECT_EQ(IdRange::List().count(groups_.first_id()), 1u);
  }
  ::testing::internal::CaptureStderr();
  groups_.Remove();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(Cgroup::List(*host).count(name), 0u);
  EXPECT_TRUE(
      absl::IsNotFound(IdRange::TryAcquire(groups_.first_id()).status()))
      << "the ids are free, and no file says otherwise";
}

TEST_F(SandboxGroupsTest, ShowEachCommandTheLimitsOfTheSandbox) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  ASSERT_THAT(host.status(), IsOk());
  ASSERT_THAT(groups_.Create(*host), IsOk());
  ASSERT_THAT(groups_.sandbox().HandOn(), IsOk());
  ASSERT_THAT(groups_.CreateRun(), IsOk());
  CgroupLimits limits;
  limits.pids = 50;
  EXPECT_THAT(groups_.SetLimits(limits), IsOk());
  EXPECT_EQ(groups_.command_limits().pids, 50u);
  {
    const auto group = groups_.MakeCommandGroup("e-1");
    ASSERT_THAT(group.status(), IsOk());
    int found = 0;
    for (const std::string& directory : groups_.sandbox().Directories()) {
      uint64_t most = 0;
      if (std::ifstream(directory + "/run/e-1/pids.max") >> most) {
        EXPECT_EQ(most, 50u);
        ++found;
      }
    }
    EXPECT_EQ(found, 1);
  }
  groups_.Remove();
}

TEST_F(SandboxGroupsTest, LimitTheSpeedOfDisksUntilItIsLifted) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  ASSERT_THAT(host.status(), IsOk());
  ASSERT_THAT(groups_.Create(*host), IsOk());
  ASSERT_THAT(groups_.sandbox().HandOn(), IsOk());
  ASSERT_THAT(groups_.CreateRun(), IsOk());
  const absl::Status limited = groups_.LimitDiskSpeed({uint64_t{1} << 20, 50});
  std::vector<std::string> files;
  for (const std::string& directory : groups_.sandbox().Directories()) {
    files.push_back(directory + "/blkio.throttle.read_iops_device");
    files.push_back(directory + "/run/io.max");
  }
  const auto show = [&files] {
    std::string text;
    for (const std::string& file : files) {
      std::ifstream stream(file);
      text.append(std::istreambuf_iterator<char>(stream), {});
    }
    return text;
  };
  if (limited.ok()) {
    EXPECT_THAT(show(), HasSubstr("50"));
    groups_.LiftDiskSpeed();
    EXPECT_EQ(show(), "");
  }
  groups_.Remove();
  if (!limited.ok()) {
    GTEST_SKIP() << limited;
  }
}

TEST_F(SandboxGroupsTest, TakeTheCallerInIfCpuTimeIsLimited) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  ASSERT_THAT(host.status(), IsOk());
  ASSERT_THAT(groups_.Create(*host), IsOk());
  const std::string name =
      absl::StrCat(kSandboxCgroup, groups_.first_id() >> 16);
  ASSERT_THAT(groups_.sandbox().HandOn(), IsOk());
  ASSERT_THAT(groups_.CreateRun(), IsOk());
  const std::string before = tests::ReadFile("/proc/self/cgroup");
  CgroupLimits limits;
  limits.pids = 50;
  ASSERT_THAT(groups_.SetLimits(limits), IsOk());
  EXPECT_THAT(groups_.Charge(0), IsOk());
  EXPECT_EQ(tests::ReadFile("/proc/self/cgroup"), before);
  limits.cpu_millis = 500;
  ASSERT_THAT(groups_.SetLimits(limits), IsOk());
  EXPECT_THAT(groups_.Charge(0), IsOk());
  const std::string charged = tests::ReadFile("/proc/self/cgroup");
  for (absl::string_view line :
       absl::StrSplit(charged, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    const std::vector<absl::string_view> controllers =
        absl::StrSplit(fields[1], ',');
    const bool counts =
        host->version == CgroupVersion::kV2
            ? fields[1].empty()
            : std::count(controllers.begin(), controllers.end(), "cpu") != 0;
    if (counts) {
      EXPECT_THAT(std::string(fields[2]), HasSubstr(name));
    } else if (fields[1] == "memory") {
      EXPECT_THAT(std::string(fields[2]), Not(HasSubstr(name)));
    }
  }
  groups_.Remove();
  EXPECT_EQ(tests::ReadFile("/proc/self/cgroup"), before);
  EXPECT_EQ(Cgroup::List(*host).count(name), 0u);
}

TEST_F(SandboxGroupsTest, TakeAnotherProcessInIfCpuTimeIsLimited) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  ASSERT_THAT(host.status(), IsOk());
  ASSERT_THAT(groups_.Create(*host), IsOk());
  ASSERT_THAT(groups_.sandbox().HandOn(), IsOk());
  ASSERT_THAT(groups_.CreateRun(), IsOk());
  CgroupLimits limits;
  limits.cpu_millis = 500;
  ASSERT_THAT(groups_.SetLimits(limits), IsOk());
  const std::string before = tests::ReadFile("/proc/self/cgroup");
  const pid_t child = ::fork();
  while (child == 0) {
    ::pause();
  }
  EXPECT_THAT(groups_.Charge(child), IsOk());
  EXPECT_THAT(
      tests::ReadFile(absl::StrCat("/proc/", child, "/cgroup")),
      HasSubstr(absl::StrCat(kSandboxCgroup, groups_.first_id() >> 16)));
  EXPECT_EQ(tests::ReadFile("/proc/self/cgroup"), before);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  groups_.Remove();
  EXPECT_EQ(tests::ReadFile("/proc/self/cgroup"), before);
}

// Plays cgroup v2 in a directory, in which groups have no files: each step that
// needs one fails, and says for which group.
TEST_F(SandboxGroupsTest, AreGivenToTheUsersOfTheSandbox) {
  std::string root = ::testing::TempDir() + "/groupsXXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directory(root + "/corral");
  std::ofstream(root + "/corral/cgroup.subtree_control") << "";
  const absl::Status created = groups_.Create({CgroupVersion::kV2, {root}});
  const std::string sandbox =
      absl::StrCat(root, "/corral/", kSandboxCgroup, groups_.first_id() >> 16);
  EXPECT_THAT(std::string(created.message()),
              HasSubstr(absl::StrCat("chown ", sandbox, "/cgroup.procs")));
  EXPECT_THAT(std::string(groups_.CreateRun().message()),
              HasSubstr(absl::StrCat(sandbox, "/run/cgroup.subtree_control")));
  EXPECT_THAT(
      std::string(groups_.MakeCommandGroup("e-1").status().message()),
      HasSubstr(absl::StrCat("chown ", sandbox, "/run/e-1/cgroup.procs")));
  groups_.Remove();
  EXPECT_FALSE(std::filesystem::exists(sandbox));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sandbox

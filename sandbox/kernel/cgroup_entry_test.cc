// The hierarchies that a command enters. A test on the real kernel.

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

// Returns true if `entry` leads into a hierarchy of v1 that shares CPU time.
bool SharesCpuTime(int entry) {
  std::filesystem::path tasks =
      std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", entry));
  return std::filesystem::exists(tasks.replace_filename("cpu.shares"));
}

TEST(CgroupEntryTest, SparesCommandsTheHierarchyOfCpuWithoutALimitOfCpuTime) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok() || host->version != CgroupVersion::kV1 ||
      host->parents.size() != 4) {
    GTEST_SKIP() << "this host has no hierarchy of v1 with cpu alone";
  }
  absl::StatusOr<Cgroup> group =
      Cgroup::Create(*host, absl::StrCat("entry-", ::getpid()));
  ASSERT_THAT(group.status(), IsOk());
  const size_t all = group->EntryFds().size();
  CgroupLimits limits;
  limits.pids = 100;
  EXPECT_THAT(group->SetLimits(limits), IsOk());
  EXPECT_EQ(group->EntryFds().size(), all - 1);
  for (const int entry : group->EntryFds()) {
    EXPECT_FALSE(SharesCpuTime(entry));
  }
  limits.cpu_millis = 500;
  EXPECT_THAT(group->SetLimits(limits), IsOk());
  EXPECT_EQ(group->EntryFds().size(), all);
}

}  // namespace
}  // namespace sandbox

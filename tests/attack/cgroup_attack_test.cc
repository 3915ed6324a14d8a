// Attacks on control groups, which a sandbox sees in /sys/fs/cgroup.

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

using CgroupAttackTest = AttackTest;

TEST_F(CgroupAttackTest, ChangesNoGroupThroughItsView) {
  spec().set_pids(50);
  Create();
  EXPECT_EQ(Attack("groups"),
            "files: some\n"
            "directories: some\n"
            "opened: 0\n"
            "made: 0\n"
            "born: 0\n");
  EXPECT_EQ(Shell("cat /sys/fs/cgroup/run/pids.max "
                  "/sys/fs/cgroup/pids/run/pids.max 2>/dev/null"),
            "50\n");
}

TEST_F(CgroupAttackTest, CannotMakeItsViewWritable) {
  Create();
  EXPECT_THAT(Attack("remount-groups"),
              AllOf(HasSubstr("remount: E"), HasSubstr("mount_setattr: E"),
                    HasSubstr("open_tree: E"), HasSubstr("unmount: E"),
                    HasSubstr("\nmount: E"), Not(ContainsRegex(": [0-9]"))));
}

TEST_F(CgroupAttackTest, SeesNoGroupOfANeighbour) {
  Create();
  sandbox::TestSandbox victim;
  ASSERT_THAT(victim.Create(), IsOk());
  ASSERT_THAT(victim.Start(victim.Shell("v", "echo here; sleep 1000")), IsOk());
  ASSERT_TRUE(victim.WaitForText("v", "stdout", "here"));
  // Prints each group that is not its own.
  EXPECT_EQ(Shell("cd /sys/fs/cgroup && find . -mindepth 1 -type d | grep -vE "
                  "'^(\\./(cpu|cpuacct|cpuset|memory|pids|,)+|\\.)"
                  "(/(init|run(/e-[0-9]+)?))?$'; echo done"),
            "done\n");
  // A process of another pid namespace has the number 0.
  EXPECT_EQ(Shell("find /sys/fs/cgroup -name cgroup.procs -exec cat {} + "
                  "2>/dev/null | grep -cx 0"),
            "0\n");
}

TEST_F(CgroupAttackTest, LeadsNowhereAboveItsOwnGroup) {
  Create();
  EXPECT_EQ(Shell("cd /sys/fs/cgroup; for d in . memory; do "
                  "ls -d $d/../../corral* $d/../sandbox-* $d/../release_agent "
                  "2>/dev/null; done; echo done"),
            "done\n");
}

TEST_F(CgroupAttackTest, NamesNoGroupOfTheHost) {
  Create();
  EXPECT_EQ(Shell("awk '/ - cgroup/ { print $4 }' /proc/self/mountinfo | "
                  "sort -u"),
            "/\n");
  EXPECT_THAT(Shell("cat /proc/self/cgroup"),
              AllOf(HasSubstr(":/run/e-"), Not(HasSubstr("corral")),
                    Not(HasSubstr("sandbox-")), Not(HasSubstr(".."))));
}

TEST_F(CgroupAttackTest, ShowsNoMemoryOfOthers) {
  spec().set_memory_bytes(uint64_t{64} << 20);
  Create();
  // The whole sandbox, with init and the spawner.
  Shell(
      "cat /sys/fs/cgroup/memory.current "
      "/sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null | "
      "awk '{ exit ($1 > 0 && $1 < 83886080) ? 7 : 8 }'");
  EXPECT_EQ(last_.exit().wait_status(), 7 << 8);
}

}  // namespace
}  // namespace tests

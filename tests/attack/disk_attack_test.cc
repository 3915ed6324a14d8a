// Attacks on the disks that all sandboxes of a host share.

#include <linux/magic.h>
#include <sys/vfs.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "tests/attack/attack_test.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::sandbox::wire::ExecutionRecord;
using ::sandbox::wire::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kSecond = 1'000'000'000;

class DiskAttackTest : public AttackTest {
 protected:
  void SetUp() override {
    struct statfs status;
    ASSERT_EQ(::statfs(sandbox_.workspace().c_str(), &status), 0);
    if (status.f_type == TMPFS_MAGIC) {
      GTEST_SKIP() << "the workspaces of tests are in memory";
    }
  }

  // Creates a sandbox that may use 1 MiB of each disk in a second. Returns
  // false if this host cannot limit it.
  bool CreateSlow() {
    spec().set_disk_bytes_per_second(kMiB);
    const absl::Status created = sandbox_.Create();
    if (sandbox::FailureOf(created) == Reply::ISOLATION) {
      return false;
    }
    EXPECT_THAT(created, IsOk());
    return true;
  }
};

TEST_F(DiskAttackTest, FloodsNoDiskFasterThanItMay) {
  if (!CreateSlow()) {
    GTEST_SKIP() << "this host limits no speed of disks";
  }
  // Each writes 2 MiB and waits for the disk: from a session of its own, from
  // many processes, with the best priority that it can get, around the cache.
  const std::string write = "dd if=/dev/zero bs=256k oflag=dsync ";
  int number = 0;
  for (const std::string& script :
       {write + "count=8 of=one",
        "setsid -w sh -c '" + write + "count=8 of=two'",
        "for f in 1 2 3 4; do " + write + "count=2 of=$f & done; wait",
        "renice -n -20 -p $$; " + write + "count=8 of=three",
        "dd if=/dev/zero bs=256k count=8 oflag=direct of=four || " + write +
            "count=8 of=five"}) {
    const ExecutionRecord end =
        sandbox_.Run(sandbox_.Shell(absl::StrCat("flood", ++number), script));
    EXPECT_EQ(end.exit().wait_status(), 0) << script;
    EXPECT_GE(end.usage().wall_time_ns(), kSecond) << script;
  }
  ExpectUsable();
}

TEST_F(DiskAttackTest, CannotLiftTheLimitOfItsSpeed) {
  if (!CreateSlow()) {
    GTEST_SKIP() << "this host limits no speed of disks";
  }
  EXPECT_THAT(Shell("for file in $(find /sys/fs/cgroup -name io.max "
                    "-o -name 'blkio.throttle.*_device'); do "
                    "echo '8:0 rbps=max wbps=max' 2>/dev/null > $file && "
                    "echo written; done"),
              Not(HasSubstr("written")));
  // No command can leave the group that has the limit.
  EXPECT_THAT(Shell("find /sys/fs/cgroup -name cgroup.procs -o -name tasks | "
                    "while read file; do echo $$ 2>/dev/null > $file && "
                    "echo moved; done"),
              Not(HasSubstr("moved")));
}

TEST_F(DiskAttackTest, SlowsNoNeighbourThatMayBeFaster) {
  if (!CreateSlow()) {
    GTEST_SKIP() << "this host limits no speed of disks";
  }
  ASSERT_THAT(sandbox_.Start(sandbox_.Shell(
                  "flood",
                  "echo flood; exec dd if=/dev/zero of=file bs=256k count=256 "
                  "oflag=dsync")),
              IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("flood", "stdout", "flood"));
  sandbox::TestSandbox neighbour;
  ASSERT_THAT(neighbour.Create(), IsOk());
  // The flood takes a minute.
  const ExecutionRecord end = neighbour.Run(neighbour.Shell(
      "e1", "exec dd if=/dev/zero of=file bs=1M count=8 conv=fsync"));
  EXPECT_EQ(end.exit().wait_status(), 0);
  EXPECT_FALSE(sandbox_.recorder().Ended("flood"));
  EXPECT_THAT(neighbour.Delete(), IsOk());
}

}  // namespace
}  // namespace tests

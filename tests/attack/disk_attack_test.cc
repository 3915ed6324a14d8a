// Attacks on the disks that all sandboxes of a host share.

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/disk_protection.h"
#include "sandbox/kernel/project_quota.h"
#include "tests/attack/attack_test.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::sandbox::wire::ExecutionRecord;
using ::sandbox::wire::Reply;
using ::testing::AllOf;
using ::testing::ContainsRegex;
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

// A sandbox whose workspace is on a file system that limits what it may hold.
class QuotaAttackTest : public AttackTest,
                        public ::testing::WithParamInterface<size_t> {
 protected:
  void SetUp() override {
    const std::vector<std::string> places =
        sandbox::FindDiskFileSystems().with_projects;
    if (places.size() <= GetParam()) {
      GTEST_SKIP() << "no file system here enforces project quotas";
    }
    std::string path = places[GetParam()] + "/attackXXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
    // The program is outside of the workspace, which must be empty.
    CopyAttack(sandbox_);
    auto* const mount = spec().add_mounts();
    mount->set_source(sandbox_.workspace());
    mount->set_target("/opt/attack");
    spec().set_workspace(path_);
    spec().set_disk_bytes(4 * kMiB);
    spec().set_disk_inodes(50);
    ASSERT_THAT(sandbox_.Create(), IsOk());
  }
  void TearDown() override {
    EXPECT_THAT(sandbox_.Delete(), IsOk());
    if (!path_.empty()) {
      std::filesystem::remove_all(path_);
    }
  }

  // The space that the workspace takes, by what the host sees.
  uint64_t Space() const {
    uint64_t blocks = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(path_)) {
      struct stat status = {};
      EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0);
      blocks += static_cast<uint64_t>(status.st_blocks);
    }
    return blocks * 512;
  }

  std::string path_;
};

TEST_P(QuotaAttackTest, FillsItsWorkspaceNoFurtherThanItMay) {
  Shell(
      "head -c 32M /dev/zero > one; head -c 32M /dev/zero > two; mkdir d; "
      "cp -r one d/three");
  EXPECT_LE(Space(), 4 * kMiB);
  EXPECT_GT(Space(), kMiB);
  Shell(
      "rm -r one two d; touch $(seq -f f%g 40); mkdir $(seq -f d%g 40); "
      "mkfifo $(seq -f p%g 40); ln -s $(seq -f none/%g 40) .");
  int entries = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::recursive_directory_iterator(path_)) {
    ++entries;
  }
  EXPECT_LT(entries, 50);
  EXPECT_GT(entries, 20);
}

TEST_P(QuotaAttackTest, FillsItWithNothingThatNobodySees) {
  EXPECT_THAT(Shell("exec /opt/attack/attack fill-unseen"),
              AllOf(ContainsRegex("without a name: (EDQUOT|ENOSPC)\n"),
                    ContainsRegex("removed: (EDQUOT|ENOSPC)\n"),
                    ContainsRegex("reserved: (EDQUOT|ENOSPC)\n"),
                    ContainsRegex("beyond the end: (EDQUOT|ENOSPC)\n")));
  EXPECT_LE(Space(), 4 * kMiB);
}

TEST_P(QuotaAttackTest, CannotTakeItsFilesOutOfTheLimit) {
  const sandbox::UniqueFd directory(
      ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const sandbox::Project before = *sandbox::ReadProject(directory.get());
  EXPECT_THAT(
      Shell("exec /opt/attack/attack leave-quota /tmp"),
      AllOf(HasSubstr(".\nread: 0\nno project: E"),
            HasSubstr("own\nread: 0\nno project: E"), HasSubstr("limits: E"),
            HasSubstr("link: EXDEV"), HasSubstr("rename: EXDEV"),
            Not(ContainsRegex("(project|heirs|limits): [0-9]"))));
  const sandbox::Project after = *sandbox::ReadProject(directory.get());
  EXPECT_EQ(after.number, before.number);
  EXPECT_TRUE(after.handed_on);
  EXPECT_EQ(sandbox::ReadProjectLimits(directory.get(), after.number)->bytes,
            4 * kMiB);
}

INSTANTIATE_TEST_SUITE_P(FileSystem, QuotaAttackTest,
                         ::testing::Values(size_t{0}, size_t{1}));

TEST_F(DiskAttackTest, GetsNoWorkspaceWhoseLimitNothingEnforces) {
  // A file that no project counts.
  CopyAttack(sandbox_);
  spec().set_disk_bytes(kMiB);
  const absl::Status created = sandbox_.Create();
  EXPECT_EQ(sandbox::FailureOf(created), Reply::ISOLATION) << created;
  EXPECT_THAT(std::string(created.message()), HasSubstr(sandbox_.workspace()));
}

}  // namespace
}  // namespace tests

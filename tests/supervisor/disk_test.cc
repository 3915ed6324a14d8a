// The use of disks by commands in real sandboxes: how much is counted, and how
// fast it may be.

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kSecond = 1'000'000'000;

class DiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    struct statfs status;
    ASSERT_EQ(::statfs(sandbox_.workspace().c_str(), &status), 0);
    if (status.f_type == TMPFS_MAGIC) {
      GTEST_SKIP() << "the workspaces of tests are in memory";
    }
  }

  // Makes the sandbox. Returns false if this host cannot limit its speed.
  bool CreateWithSpeed(uint64_t bytes_per_second) {
    sandbox_.spec().set_disk_bytes_per_second(bytes_per_second);
    const absl::Status created = sandbox_.Create();
    if (FailureOf(created) == wire::Reply::ISOLATION) {
      return false;
    }
    EXPECT_THAT(created, IsOk());
    return true;
  }
  wire::ExecutionRecord Run(const std::string& id, const std::string& script) {
    return sandbox_.Run(sandbox_.Shell(id, script));
  }

  // Writes a file of the workspace to the disk and drops it from the cache.
  // Returns false if some of it stays there.
  bool Evict(const std::string& name, size_t size) const {
    const std::string path = sandbox_.workspace() + "/" + name;
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::fsync(file.get()), 0);
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    void* const mapped =
        ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    EXPECT_NE(mapped, MAP_FAILED);
    std::vector<unsigned char> pages(size / 4096);
    EXPECT_EQ(::mincore(mapped, size, pages.data()), 0);
    ::munmap(mapped, size);
    return std::all_of(pages.begin(), pages.end(),
                       [](unsigned char page) { return (page & 1) == 0; });
  }

  TestSandbox sandbox_;
};

TEST_F(DiskTest, CountsWhatACommandAndItsChildrenWrite) {
  if (::access("/proc/self/io", F_OK) != 0) {
    GTEST_SKIP() << "this kernel does not count it";
  }
  ASSERT_THAT(sandbox_.Create(), IsOk());
  const wire::ExecutionRecord end =
      Run("e1",
          "head -c 1M /dev/zero > file; (head -c 1M /dev/zero > other) & wait; "
          "head -c 4M /dev/zero > /tmp/in-memory");
  EXPECT_GE(end.usage().disk_written_bytes(), 2 * kMiB);
  // The kernel also counts what it writes about the files.
  EXPECT_LT(end.usage().disk_written_bytes(), 3 * kMiB);
  EXPECT_LT(Run("e2", "true").usage().disk_written_bytes(), kMiB);
}

TEST_F(DiskTest, CountsWhatACommandReadsFromTheDiskAndNotFromTheCache) {
  if (::access("/proc/self/io", F_OK) != 0) {
    GTEST_SKIP() << "this kernel does not count it";
  }
  ASSERT_THAT(sandbox_.Create(), IsOk());
  Run("e1", "head -c 4M /dev/zero > file");
  if (!Evict("file", 4 * kMiB)) {
    GTEST_SKIP() << "this file system keeps the file in the cache";
  }
  EXPECT_GE(Run("e2", "cat file > /dev/null").usage().disk_read_bytes(),
            4 * kMiB);
  EXPECT_LT(Run("e3", "cat file > /dev/null").usage().disk_read_bytes(),
            4 * kMiB);
}

TEST_F(DiskTest, WritesNoFasterThanItsSandboxMay) {
  if (!CreateWithSpeed(kMiB)) {
    GTEST_SKIP() << "this host limits no speed of disks";
  }
  const wire::ExecutionRecord end =
      Run("e1", "dd if=/dev/zero of=file bs=1M count=2 conv=fsync");
  EXPECT_EQ(end.exit().wait_status(), 0);
  EXPECT_GE(end.usage().wall_time_ns(), kSecond);
}

TEST_F(DiskTest, ReadsNoFasterThanItsSandboxMay) {
  if (!CreateWithSpeed(kMiB)) {
    GTEST_SKIP() << "this host limits no speed of disks";
  }
  Run("e1", "head -c 2M /dev/zero > file");
  if (!Evict("file", 2 * kMiB)) {
    GTEST_SKIP() << "this file system keeps the file in the cache";
  }
  EXPECT_GE(Run("e2", "cat file > /dev/null").usage().wall_time_ns(), kSecond);
}

// A process that waits for a disk cannot be killed: at this speed, it would
// wait for half a minute.
TEST_F(DiskTest, IsDeletedThoughACommandWaitsForASlowDisk) {
  if (!CreateWithSpeed(kMiB)) {
    GTEST_SKIP() << "this host limits no speed of disks";
  }
  ASSERT_THAT(
      sandbox_.Start(sandbox_.Shell(
          "e1", "head -c 32M /dev/zero > file; echo written; sync file")),
      IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("e1", "stdout", "written"));
  const absl::Time begin = absl::Now();
  EXPECT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
}

}  // namespace
}  // namespace sandbox

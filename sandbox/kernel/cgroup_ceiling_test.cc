// Plays the files of control groups in a directory.

#include "sandbox/kernel/cgroup_ceiling.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::IsOk;

class CgroupCeilingTest : public ::testing::Test {
 protected:
  CgroupCeilingTest() {
    std::string path = ::testing::TempDir() + "/ceilingXXXXXX";
    directory_ = ::mkdtemp(path.data());
    struct sysinfo host = {};
    ::sysinfo(&host);
    memory_ = uint64_t{host.totalram} * host.mem_unit;
    std::ifstream("/proc/sys/kernel/pid_max") >> pids_;
  }
  ~CgroupCeilingTest() override { std::filesystem::remove_all(directory_); }

  void Put(const std::string& file, const std::string& text) const {
    std::ofstream(directory_ + "/" + file) << text;
  }
  std::string Get(const std::string& file) const {
    std::ifstream stream(directory_ + "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string directory_;
  uint64_t memory_ = 0;
  uint64_t pids_ = 0;
};

TEST_F(CgroupCeilingTest, LeavesTheHostATenthOfMemoryAndHalfOfTheIds) {
  Put("memory.max", "max\n");
  Put("pids.max", "max\n");
  EXPECT_THAT(SetCeiling(directory_), IsOk());
  EXPECT_EQ(Get("memory.max"), absl::StrCat(memory_ / 10 * 9));
  EXPECT_EQ(Get("pids.max"), absl::StrCat(pids_ / 2));
}

TEST_F(CgroupCeilingTest, KnowsTheNumberThatMeansNoLimit) {
  Put("memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_THAT(SetCeiling(directory_), IsOk());
  // The kernel would show the new number alone.
  EXPECT_THAT(Get("memory.limit_in_bytes"),
              StartsWith(absl::StrCat(memory_ / 10 * 9)));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/memory.max"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/pids.max"));
}

TEST_F(CgroupCeilingTest, LeavesTheLimitsOfAnOperator) {
  Put("memory.max", "4611686018427387904\n");
  Put("memory.limit_in_bytes", "4096\n");
  Put("pids.max", "7\n");
  EXPECT_THAT(SetCeiling(directory_), IsOk());
  EXPECT_EQ(Get("memory.max"), "4611686018427387904\n");
  EXPECT_EQ(Get("memory.limit_in_bytes"), "4096\n");
  EXPECT_EQ(Get("pids.max"), "7\n");
}

TEST_F(CgroupCeilingTest, ReportsALimitThatCannotBeSet) {
  for (const char* file : {"memory.limit_in_bytes", "memory.max", "pids.max"}) {
    Put(file, "max\n");
    absl::Status set;
    ASSERT_TRUE(tests::WithFailingCalls({SYS_write}, EIO,
                                        [&] { set = SetCeiling(directory_); }));
    EXPECT_THAT(std::string(set.message()), HasSubstr(file));
    std::filesystem::remove(directory_ + "/" + file);
  }
}

TEST_F(CgroupCeilingTest, ReportsALimitThatCannotBeRead) {
  absl::Status set;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_openat}, EIO,
                                      [&] { set = SetCeiling(directory_); }));
  EXPECT_THAT(std::string(set.message()), HasSubstr("/pids.max"));
}

TEST_F(CgroupCeilingTest, ReportsAHostWhoseIdsAreUnknown) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  Put("pids.max", "max\n");
  constexpr char kIds[] = "/proc/sys/kernel/pid_max";
  absl::Status set;
  // The mounts end with the thread.
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("/dev/null", kIds, nullptr, MS_BIND, nullptr), 0);
    set = SetCeiling(directory_);
  }).join();
  EXPECT_EQ(set.message(), absl::StrCat("cannot read ", kIds));
  EXPECT_EQ(Get("pids.max"), "max\n");
}

}  // namespace
}  // namespace sandbox

// On files in place of a v2 group. See also cgroup_files_test.cc and
// cgroup_test.cc.

#include "sandbox/kernel/cgroup_counters.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

class CgroupCountersTest : public ::testing::Test {
 protected:
  CgroupCountersTest() {
    Put("memory.current", "0");
    Put("memory.peak", "4096");
  }
  ~CgroupCountersTest() override { std::filesystem::remove_all(directory_); }

  void Put(const std::string& name, const std::string& content) const {
    std::ofstream(directory_ + "/" + name) << content << "\n";
  }
  void PutTotals(int oom_kills, int user_microseconds) const {
    Put("memory.events", absl::StrCat("oom 9\noom_kill ", oom_kills));
    Put("cpu.stat",
        absl::StrCat("user_usec ", user_microseconds, "\nsystem_usec 0"));
  }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/countersXXXXXX";
    return ::mkdtemp(path.data());
  }

  const std::string directory_ = MakeDirectory();
};

TEST_F(CgroupCountersTest, TimeThatIsCountedLateCountsForNobody) {
  Put("pids.current", "0");
  CgroupCounters counters(CgroupVersion::kV2, {directory_});
  PutTotals(1, 10);
  EXPECT_EQ(counters.Usage().oom_kills, 1U);
  PutTotals(1, 11);
  EXPECT_THAT(counters.Restart(), IsOk());
  PutTotals(2, 15);
  EXPECT_EQ(counters.OomKills(), 1U);
  EXPECT_EQ(counters.Usage().user_time_ns, 4000U);
}

TEST_F(CgroupCountersTest, WhatALeftProcessUsesCountsForNobody) {
  Put("pids.current", "1");
  CgroupCounters counters(CgroupVersion::kV2, {directory_});
  PutTotals(1, 10);
  EXPECT_EQ(counters.Usage().user_time_ns, 10'000U);
  EXPECT_FALSE(counters.Restart().ok());
  PutTotals(5, 15);
  Put("pids.current", "0");
  EXPECT_THAT(counters.Restart(), IsOk());
  EXPECT_EQ(counters.OomKills(), 0U);
  EXPECT_EQ(counters.Usage().user_time_ns, 0U);
}

}  // namespace
}  // namespace sandbox

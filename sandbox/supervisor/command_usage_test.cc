#include "sandbox/supervisor/command_usage.h"

#include "gtest/gtest.h"

namespace sandbox {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(SetUsageTest, TakesTheLargerCpuTimeOfEachKind) {
  CgroupUsage group;
  group.user_time_ns = 2 * kSecond;
  group.system_time_ns = 3 * kSecond;
  rusage reaped = {};
  reaped.ru_utime = {5, 250'000};
  reaped.ru_stime = {1, 500'000};
  wire::Usage usage;
  SetUsage(group, reaped, &usage);
  EXPECT_EQ(usage.user_time_ns(), 5 * kSecond + kSecond / 4);
  EXPECT_EQ(usage.system_time_ns(), 3 * kSecond);
  reaped.ru_utime = {1, 0};
  reaped.ru_stime = {4, 250'000};
  SetUsage(group, reaped, &usage);
  EXPECT_EQ(usage.user_time_ns(), 2 * kSecond);
  EXPECT_EQ(usage.system_time_ns(), 4 * kSecond + kSecond / 4);
}

TEST(SetUsageTest, TakesMemoryFromTheCgroupAndKeepsTheWallTime) {
  CgroupUsage group;
  group.memory_peak_bytes = 4096;
  group.oom_kills = 2;
  wire::Usage usage;
  usage.set_wall_time_ns(7);
  SetUsage(group, {}, &usage);
  EXPECT_EQ(usage.memory_peak_bytes(), 4096u);
  EXPECT_EQ(usage.oom_kills(), 2u);
  EXPECT_EQ(usage.wall_time_ns(), 7);
}

TEST(SetUsageTest, CountsDisksInBytes) {
  rusage reaped = {};
  reaped.ru_inblock = 3;
  // More than 4 GiB.
  reaped.ru_oublock = int64_t{1} << 24;
  wire::Usage usage;
  SetUsage({}, reaped, &usage);
  EXPECT_EQ(usage.disk_read_bytes(), 1536u);
  EXPECT_EQ(usage.disk_written_bytes(), uint64_t{1} << 33);
}

}  // namespace
}  // namespace sandbox

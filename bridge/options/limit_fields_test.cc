#include "bridge/options/limit_fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST(LimitFieldsTest, SetEachField) {
  corral::v1::Limits limits;
  EXPECT_THAT(SetMemory("512M", limits), IsOk());
  EXPECT_THAT(SetPids("100", limits), IsOk());
  EXPECT_THAT(SetCpus("1.5", limits), IsOk());
  EXPECT_THAT(SetOutputBytes("1G", limits), IsOk());
  EXPECT_THAT(SetFileBytes("2M", limits), IsOk());
  EXPECT_THAT(SetDiskSpeed("3M", limits), IsOk());
  EXPECT_THAT(SetDiskOperations("50", limits), IsOk());
  EXPECT_THAT(SetDiskSize("4M", limits), IsOk());
  EXPECT_THAT(SetDiskFiles("60", limits), IsOk());
  EXPECT_EQ(limits.ShortDebugString(),
            "memory_bytes: 536870912 pids: 100 cpu_millis: 1500 "
            "output_bytes: 1073741824 file_bytes: 2097152 "
            "disk_bytes_per_second: 3145728 disk_operations_per_second: 50 "
            "disk_bytes: 4194304 disk_inodes: 60");
}

TEST(LimitFieldsTest, TakeBothEndsOfEachRange) {
  corral::v1::Limits limits;
  corral::v1::Retention retention;
  for (const absl::Status& status : {SetMemory("4M", limits),
                                     SetMemory("1P", limits),
                                     SetPids("8", limits),
                                     SetPids("4194304", limits),
                                     SetCpus("0.01", limits),
                                     SetCpus("1000", limits),
                                     SetOutputBytes("1M", limits),
                                     SetOutputBytes("1P", limits),
                                     SetFileBytes("4K", limits),
                                     SetFileBytes("1P", limits),
                                     SetDiskSpeed("1M", limits),
                                     SetDiskSpeed("1P", limits),
                                     SetDiskOperations("10", limits),
                                     SetDiskOperations("1000000000", limits),
                                     SetDiskSize("1M", limits),
                                     SetDiskSize("1P", limits),
                                     SetDiskFiles("16", limits),
                                     SetDiskFiles("4294967295", limits),
                                     SetEndedCount("0", retention),
                                     SetEndedCount("100000", retention)}) {
    EXPECT_THAT(status, IsOk());
  }
  EXPECT_EQ(retention.max_ended_executions(), 100000);
}

TEST(LimitFieldsTest, SayWhatIsAllowed) {
  corral::v1::Retention retention;
  corral::v1::Limits limits;
  const struct {
    absl::Status status;
    const char* message;
  } cases[] = {
      {SetMemory("3M", limits), "allowed is 4M to 1P"},
      {SetMemory("4194303", limits), "allowed is 4M to 1P"},
      {SetMemory("1125899906843648", limits), "allowed is 4M to 1P"},
      {SetMemory("x", limits), "allowed is a size"},
      {SetPids("4194305", limits), "allowed is 8 to 4194304"},
      {SetCpus("1000.1", limits), "allowed is 0.01 to 1000"},
      {SetEndedCount("100001", retention), "allowed is 0 to 100000"},
      {SetEndedCount("x", retention), "allowed is a whole number"},
      {SetPids("7", limits), "allowed is 8 to 4194304"},
      {SetPids("1.5", limits), "allowed is a whole number"},
      {SetCpus("0", limits), "allowed is 0.01 to 1000"},
      {SetCpus("nan", limits), "allowed is a number of CPUs"},
      {SetOutputBytes("1048575", limits), "allowed is 1M to 1P"},
      {SetOutputBytes("1125899906843648", limits), "allowed is 1M to 1P"},
      {SetFileBytes("4095", limits), "allowed is 4K to 1P"},
      {SetFileBytes("1125899906843648", limits), "allowed is 4K to 1P"},
      {SetDiskSpeed("1048575", limits), "allowed is 1M to 1P"},
      {SetDiskSpeed("1125899906843648", limits), "allowed is 1M to 1P"},
      {SetDiskOperations("9", limits), "allowed is 10 to 1000000000"},
      {SetDiskOperations("1000000001", limits), "allowed is 10 to 1000000000"},
      {SetDiskSize("1048575", limits), "allowed is 1M to 1P"},
      {SetDiskSize("1125899906843648", limits), "allowed is 1M to 1P"},
      {SetDiskFiles("15", limits), "allowed is 16 to 4294967295"},
      {SetDiskFiles("4294967296", limits), "allowed is 16 to 4294967295"},
  };
  for (const auto& example : cases) {
    EXPECT_THAT(example.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr(example.message)));
  }
}

}  // namespace
}  // namespace bridge

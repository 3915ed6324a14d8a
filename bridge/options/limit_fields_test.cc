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
  EXPECT_EQ(limits.ShortDebugString(),
            "memory_bytes: 536870912 pids: 100 cpu_millis: 1500 "
            "output_bytes: 1073741824");
}

TEST(LimitFieldsTest, SayWhatIsAllowed) {
  corral::v1::Limits limits;
  const struct {
    absl::Status status;
    const char* message;
  } cases[] = {
      {SetMemory("3M", limits), "allowed is 4M to 1P"},
      {SetMemory("x", limits), "allowed is a size"},
      {SetPids("7", limits), "allowed is 8 to 4194304"},
      {SetPids("1.5", limits), "allowed is a whole number"},
      {SetCpus("0", limits), "allowed is 0.01 to 1000"},
      {SetCpus("nan", limits), "allowed is a number of CPUs"},
      {SetOutputBytes("1000", limits), "allowed is 1M to 1P"},
  };
  for (const auto& example : cases) {
    EXPECT_THAT(example.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr(example.message)));
  }
}

}  // namespace
}  // namespace bridge

#include "bridge/options/duration_field.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::tests::IsOk;
using ::tests::StatusIs;

constexpr DurationRange kRange = {absl::Seconds(1), absl::Hours(1), "1s to 1h"};

TEST(DurationFieldTest, TakesBothEndsOfTheRange) {
  google::protobuf::Duration field;
  EXPECT_THAT(SetDuration("1s", kRange, field), IsOk());
  EXPECT_EQ(field.seconds(), 1);
  EXPECT_THAT(SetDuration("1h", kRange, field), IsOk());
  EXPECT_EQ(field.seconds(), 3600);
}

TEST(DurationFieldTest, RefusesTimesOutsideTheRange) {
  google::protobuf::Duration field;
  for (const char* text : {"999ms", "0s", "3601s", "3600001ms"}) {
    EXPECT_THAT(
        SetDuration(text, kRange, field),
        StatusIs(absl::StatusCode::kInvalidArgument, "allowed is 1s to 1h"))
        << text;
  }
}

TEST(DurationFieldTest, KeepsPartsOfASecond) {
  google::protobuf::Duration field;
  EXPECT_THAT(SetDuration("1m1500ms", kRange, field), IsOk());
  EXPECT_EQ(field.seconds(), 61);
  EXPECT_EQ(field.nanos(), 500'000'000);
  EXPECT_EQ(FormatDuration(field), "1m1.5s");
}

}  // namespace
}  // namespace bridge

#include "sandbox/supervisor/execution_times.h"

#include "gtest/gtest.h"
#include "sandbox/base/instant.h"

namespace sandbox {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;

class ExecutionTimesTest : public ::testing::Test {
 protected:
  Instant now_ = {1000 * kHour, 5};
  wire::ExecutionRecord record_;
  ExecutionTimes times_{[this] { return now_; }};
};

TEST_F(ExecutionTimesTest, RecordsTheTimesAndTheDuration) {
  times_.Create(&record_);
  now_ = {1001 * kHour, kHour};
  times_.Start(&record_);
  now_ = {1003 * kHour, 3 * kHour};
  times_.End(&record_);
  EXPECT_EQ(record_.create_time_ns(), 1000 * kHour);
  EXPECT_EQ(record_.start_time_ns(), 1001 * kHour);
  EXPECT_EQ(record_.end_time_ns(), 1003 * kHour);
  EXPECT_EQ(record_.usage().wall_time_ns(), 2 * kHour);
}

TEST_F(ExecutionTimesTest, KeepsTheDurationWhenTheClockIsSetBack) {
  times_.Create(&record_);
  now_.unix_ns -= kHour;
  times_.Start(&record_);
  now_ = {now_.unix_ns - kHour, now_.monotonic_ns + 10};
  times_.End(&record_);
  EXPECT_EQ(record_.usage().wall_time_ns(), 10);
  EXPECT_EQ(record_.start_time_ns(), record_.create_time_ns());
  EXPECT_EQ(record_.end_time_ns(), record_.start_time_ns());
}

TEST_F(ExecutionTimesTest, KeepsTheDurationWhenTheClockIsSetForward) {
  times_.Create(&record_);
  times_.Start(&record_);
  now_ = {now_.unix_ns + kHour, now_.monotonic_ns + 10};
  times_.End(&record_);
  EXPECT_EQ(record_.usage().wall_time_ns(), 10);
  EXPECT_EQ(record_.end_time_ns() - record_.start_time_ns(), kHour);
}

TEST_F(ExecutionTimesTest, RecordsNoDurationOfAFailedStart) {
  times_.Create(&record_);
  now_.unix_ns -= kHour;
  times_.End(&record_);
  EXPECT_EQ(record_.end_time_ns(), record_.create_time_ns());
  EXPECT_FALSE(record_.has_usage());
}

TEST_F(ExecutionTimesTest, ReadsTheClocksOfThisHost) {
  ExecutionTimes times;
  times.Create(&record_);
  times.Start(&record_);
  times.End(&record_);
  EXPECT_GT(record_.create_time_ns(), 0);
  EXPECT_GE(record_.end_time_ns(), record_.start_time_ns());
  EXPECT_GE(record_.usage().wall_time_ns(), 0);
}

}  // namespace
}  // namespace sandbox

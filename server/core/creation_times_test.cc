#include "server/core/creation_times.h"

#include <cstdint>

#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"
#include "sandbox/base/instant.h"

namespace server {
namespace {

using google::protobuf::util::TimeUtil;

corral::v1::SandboxTrace TraceOf(const CreationTimes& times) {
  corral::v1::Sandbox sandbox;
  times.AddTo(&sandbox);
  return sandbox.trace();
}

TEST(CreationTimesTest, CountEachStepFromTheEndOfTheOneBefore) {
  const int64_t begin = sandbox::MonotonicNanoseconds();
  CreationTimes times;
  times.Admitted();
  times.Recorded();
  times.Made();
  const int64_t whole = sandbox::MonotonicNanoseconds() - begin;
  const corral::v1::SandboxTrace trace = TraceOf(times);
  int64_t sum = 0;
  for (const auto& step :
       {trace.admission(), trace.record(), trace.supervisor()}) {
    const int64_t nanos = TimeUtil::DurationToNanoseconds(step);
    EXPECT_GE(nanos, 1);
    sum += nanos;
  }
  // A step that took no time shows as 1 ns.
  EXPECT_LE(sum, whole + 3);
}

TEST(CreationTimesTest, LackStepsThatHaveNotEnded) {
  CreationTimes times;
  corral::v1::Sandbox sandbox;
  times.AddTo(&sandbox);
  EXPECT_FALSE(sandbox.has_trace());
  times.Admitted();
  EXPECT_TRUE(TraceOf(times).has_admission());
  EXPECT_FALSE(TraceOf(times).has_record());
  times.Recorded();
  EXPECT_TRUE(TraceOf(times).has_record());
  EXPECT_FALSE(TraceOf(times).has_supervisor());
}

TEST(CreationTimesTest, LeaveTheSupervisorsStepsAlone) {
  CreationTimes times;
  times.Made();
  corral::v1::Sandbox sandbox;
  sandbox.mutable_trace()->mutable_mounts()->set_nanos(5);
  times.AddTo(&sandbox);
  EXPECT_EQ(sandbox.trace().mounts().nanos(), 5);
  EXPECT_TRUE(sandbox.trace().has_supervisor());
}

}  // namespace
}  // namespace server

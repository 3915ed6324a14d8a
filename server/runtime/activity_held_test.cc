// The bounds of calls that wait with data.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/v1/error_reason.pb.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

TEST(ActivityHeldTest, LeavesForOthersAsMuchAsOneExecutionHas) {
  tests::FakeTimerQueue timers;
  Activity::Options options;
  options.max_held_bytes = 100;
  Activity activity(&timers, options);
  std::vector<Activity::Held> held;
  const auto fill = [&](uint64_t bytes) {
    uint64_t share = 0;
    while (true) {
      absl::StatusOr<Activity::Held> one = activity.BeginHeld(bytes, share);
      if (!one.ok()) {
        EXPECT_EQ(ReasonOf(one.status()), corral::v1::TOO_MUCH_INPUT);
        return share;
      }
      held.push_back(*std::move(one));
      share += bytes;
    }
  };
  EXPECT_EQ(fill(10), 50);
  EXPECT_EQ(fill(5), 25);
  EXPECT_EQ(fill(1), 13);
  EXPECT_EQ(ReasonOf(activity.BeginHeld(UINT64_MAX, 1).status()),
            corral::v1::TOO_MUCH_INPUT);
  held.clear();
  EXPECT_EQ(fill(10), 50);
}

}  // namespace
}  // namespace server

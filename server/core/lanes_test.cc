#include "server/core/lanes.h"

#include <atomic>
#include <chrono>

#include "gtest/gtest.h"

namespace server {
namespace {

// Gives a job that counts to each of the seven lanes.
void RunOnEach(Lanes* lanes, std::atomic<int>* count) {
  const auto job = [count] { ++*count; };
  lanes->launches.Run(job);
  lanes->kills.Run(job);
  lanes->descriptions.Run(job);
  lanes->records.Run(job);
  lanes->removals.Run(job);
  lanes->reads.Run("box", job);
  lanes->workspaces.Run("/work", job);
}

TEST(LanesTest, StopRunsWhatEachLaneHasAndDropsWhatComesLater) {
  std::atomic<int> count = 0;
  {
    Lanes lanes;
    RunOnEach(&lanes, &count);
    lanes.Stop();
    EXPECT_EQ(count, 7);
    RunOnEach(&lanes, &count);
  }
  EXPECT_EQ(count, 7);
}

TEST(LanesTest, AStopOfIdleLanesIsComplete) {
  Lanes lanes;
  EXPECT_TRUE(lanes.StopWithin(std::chrono::minutes(1)));
}

}  // namespace
}  // namespace server

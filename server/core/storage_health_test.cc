#include "server/core/storage_health.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::ElementsAre;

TEST(StorageHealthTest, IsBadWhileAnybodyFails) {
  StorageHealth health;
  std::vector<bool> reports;
  health.Watch([&](bool good) { reports.push_back(good); });
  health.Set("a", "");
  health.Set("a", "no space");
  health.Set("b", "no space");
  health.Set("a", "");
  EXPECT_EQ(health.failure(), "b: no space");
  health.Set("b", "");
  EXPECT_EQ(health.failure(), "");
  EXPECT_THAT(reports, ElementsAre(true, false, true));
}

TEST(StorageHealthTest, ReportsTheLatestFailureOfEach) {
  StorageHealth health;
  health.Set("a", "no space");
  health.Set("a", "input/output error");
  EXPECT_EQ(health.failure(), "a: input/output error");
}

TEST(StorageHealthTest, ReportsTheStateToANewWatcherAndNothingToAFormerOne) {
  StorageHealth health;
  health.Set("a", "no space");
  std::vector<bool> first;
  health.Watch([&](bool good) { first.push_back(good); });
  std::vector<bool> second;
  health.Watch([&](bool good) { second.push_back(good); });
  health.Set("a", "");
  health.Watch(nullptr);
  health.Set("a", "no space");
  EXPECT_THAT(first, ElementsAre(false));
  EXPECT_THAT(second, ElementsAre(false, true));
}

}  // namespace
}  // namespace server

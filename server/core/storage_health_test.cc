#include "server/core/storage_health.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::ElementsAre;

TEST(StorageHealthTest, IsBadWhileAnybodyFails) {
  StorageHealth health;
  std::vector<bool> told;
  health.Watch([&](bool good) { told.push_back(good); });
  health.Set("a", "");
  health.Set("a", "no space");
  health.Set("b", "no space");
  health.Set("a", "");
  EXPECT_EQ(health.failure(), "b: no space");
  health.Set("b", "");
  EXPECT_EQ(health.failure(), "");
  EXPECT_THAT(told, ElementsAre(true, false, true));
  health.Watch(nullptr);
  health.Set("a", "no space");
  EXPECT_THAT(told, ElementsAre(true, false, true));
}

}  // namespace
}  // namespace server

#include "server/ids.h"

#include <cstdint>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "server/names.h"

namespace server {
namespace {

TEST(IdsTest, AreValidAndDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    ids.insert(MakeId());
    EXPECT_TRUE(IsValidId(*ids.begin()));
  }
  EXPECT_EQ(ids.size(), 1000);
}

TEST(SubordinateIdsTest, RangesNeverOverlap) {
  SubordinateIds ids;
  std::set<uint32_t> taken;
  for (int i = 0; i < SubordinateIds::kRanges; ++i) {
    taken.insert(ids.Take().value());
  }
  EXPECT_EQ(taken.size(), SubordinateIds::kRanges);
  EXPECT_EQ(*taken.begin(), 0x70000000);
  EXPECT_EQ(*taken.rbegin(), 0x70000000 + 4095U * 65536);
  EXPECT_FALSE(ids.Take().has_value());
  ids.Release(0x70010000);
  EXPECT_EQ(ids.Take(), 0x70010000);
}

TEST(SubordinateIdsTest, AReleasedRangeIsNotTheNext) {
  SubordinateIds ids;
  const uint32_t first = ids.Take().value();
  ids.Release(first);
  EXPECT_NE(ids.Take(), first);
}

TEST(SubordinateIdsTest, RefusesToClaimWhatIsTakenOrNoRange) {
  SubordinateIds ids;
  EXPECT_TRUE(ids.Claim(0x70000000));
  EXPECT_FALSE(ids.Claim(0x70000000));
  EXPECT_FALSE(ids.Claim(0x70000001));
  EXPECT_FALSE(ids.Claim(0));
  EXPECT_FALSE(ids.Claim(0x80000000));
  EXPECT_EQ(ids.Take(), 0x70010000);
}

}  // namespace
}  // namespace server

#include "sandbox/kernel/id_range.h"

#include <unistd.h>

#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/kernel/namespaces.h"

namespace sandbox {
namespace {

class IdRangeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }
};

TEST_F(IdRangeTest, GivesEachHolderARangeOfItsOwn) {
  std::vector<IdRange> held;
  std::set<uint32_t> seen;
  for (int i = 0; i < 20; ++i) {
    absl::StatusOr<IdRange> range = IdRange::Acquire();
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_TRUE(seen.insert(range->first_id()).second);
    held.push_back(*std::move(range));
  }
}

TEST_F(IdRangeTest, LiesAboveTheHostsUsersAndBelowTheSignBit) {
  absl::StatusOr<IdRange> range = IdRange::Acquire();
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_GE(range->first_id(), 0x70000000u);
  EXPECT_EQ(range->first_id() % kIdRange, 0u);
  EXPECT_LT(range->first_id(), 0x80000000u - kIdRange);
}

TEST_F(IdRangeTest, IsFreeAgainWhenItsHolderHasGone) {
  std::set<uint32_t> seen;
  for (int i = 0; i < 5; ++i) {
    absl::StatusOr<IdRange> range = IdRange::Acquire();
    ASSERT_TRUE(range.ok()) << range.status();
    seen.insert(range->first_id());
  }
  // Another process of this host may take it meanwhile, but not each time.
  EXPECT_LT(seen.size(), 5u);
}

}  // namespace
}  // namespace sandbox

#include "bridge/acp/terminals/signals.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(SignalsTest, EndTheWholeTree) {
  EXPECT_EQ(KillRequest("e").ShortDebugString(),
            "name: \"e\" signal: 15 scope: TREE kill_after { seconds: 2 }");
  EXPECT_EQ(SigkillRequest("e").ShortDebugString(),
            "name: \"e\" signal: 9 scope: TREE");
}

TEST(SignalsTest, HaveArrivedIfNothingIsLeft) {
  EXPECT_TRUE(HasArrived(absl::OkStatus()));
  EXPECT_TRUE(HasArrived(absl::FailedPreconditionError("")));
  EXPECT_TRUE(HasArrived(absl::NotFoundError("")));
  EXPECT_FALSE(HasArrived(absl::UnavailableError("")));
}

}  // namespace
}  // namespace bridge

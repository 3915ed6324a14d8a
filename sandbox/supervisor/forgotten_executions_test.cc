#include "sandbox/supervisor/forgotten_executions.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;

// Two ids with the same hash.
constexpr char kOne[] = "costarring";
constexpr char kOther[] = "liquid";

class ForgottenExecutionsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> FirstCharged() {
    return forgotten_.FirstCharged(
        [this]() -> absl::StatusOr<std::vector<std::string>> {
          ++lists_;
          return ids_;
        });
  }

  std::vector<std::string> ids_;
  int lists_ = 0;
  ForgottenExecutions forgotten_;
};

TEST_F(ForgottenExecutionsTest, HasWhatWasAddedUntilItIsTaken) {
  EXPECT_TRUE(forgotten_.empty());
  EXPECT_TRUE(forgotten_.Add("e1", 7));
  EXPECT_TRUE(forgotten_.MayHave("e1"));
  EXPECT_FALSE(forgotten_.MayHave("e2"));
  EXPECT_EQ(forgotten_.Take("e1"), 7u);
  EXPECT_FALSE(forgotten_.MayHave("e1"));
  EXPECT_TRUE(forgotten_.empty());
}

TEST_F(ForgottenExecutionsTest, TakesNoTwoThatItCouldNotTellApart) {
  ASSERT_EQ(ForgottenExecutions::HashOf(kOne),
            ForgottenExecutions::HashOf(kOther));
  EXPECT_TRUE(forgotten_.Add(kOne, 0));
  EXPECT_FALSE(forgotten_.Add(kOther, 0));
}

TEST_F(ForgottenExecutionsTest, TakesNoneWhoseChargeItCannotKeep) {
  EXPECT_FALSE(forgotten_.Add("e1", uint64_t{1} << 32));
  EXPECT_TRUE(forgotten_.Add("e1", (uint64_t{1} << 32) - 1));
}

TEST_F(ForgottenExecutionsTest, FindsTheFirstOneThatIsCharged) {
  ids_ = {"a", "b", "c", "d"};
  forgotten_.Add("d", 0);
  forgotten_.Add("c", 1);
  forgotten_.Add("a", 1);
  forgotten_.Add("b", 1);
  EXPECT_EQ(*FirstCharged(), "c");
  forgotten_.Take("c");
  forgotten_.Take("a");
  EXPECT_EQ(*FirstCharged(), "b");
  EXPECT_EQ(lists_, 1);
  forgotten_.Take("b");
  EXPECT_TRUE(absl::IsNotFound(FirstCharged().status()));
}

TEST_F(ForgottenExecutionsTest, PassesOverFilesThatAreGone) {
  ids_ = {"b"};
  forgotten_.Add("a", 1);
  forgotten_.Add("b", 1);
  EXPECT_EQ(*FirstCharged(), "b");
  forgotten_.Take("b");
  EXPECT_TRUE(absl::IsNotFound(FirstCharged().status()));
}

TEST_F(ForgottenExecutionsTest, ListsItsHashesInTheirOrder) {
  forgotten_.Add("b", 1);
  forgotten_.Add("a", 1);
  EXPECT_THAT(forgotten_.Hashes(),
              ElementsAre(ForgottenExecutions::HashOf("a"),
                          ForgottenExecutions::HashOf("b")));
}

}  // namespace
}  // namespace sandbox

#include "bridge/client/request_id.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace client {
namespace {

TEST(RequestIdTest, IsARandomUuid) {
  EXPECT_THAT(NewRequestId(),
              ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                      "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

TEST(RequestIdTest, IsAnotherEachTime) {
  EXPECT_NE(NewRequestId(), NewRequestId());
}

}  // namespace
}  // namespace client

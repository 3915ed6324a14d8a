#include "bridge/client/request_id.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace client {
namespace {

TEST(RequestIdTest, IsARandomUuid) {
  const std::string id = NewRequestId();
  EXPECT_EQ(id.size(), 36);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef-"), std::string::npos) << id;
  EXPECT_EQ(id[14], '4') << id;
  EXPECT_THAT(std::string("89ab"), ::testing::HasSubstr(id.substr(19, 1)));
}

TEST(RequestIdTest, IsAnotherEachTime) {
  EXPECT_NE(NewRequestId(), NewRequestId());
}

}  // namespace
}  // namespace client

#include "bridge/client/request_id.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(RequestIdTest, IsARandomUuid) {
  EXPECT_THAT(NewRequestId(),
              ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                      "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

TEST(RequestIdTest, IsAnotherEachTime) {
  EXPECT_NE(NewRequestId(), NewRequestId());
}

TEST(RequestIdTest, HasAnyDigitWhereTheVersionIsNot) {
  std::vector<std::set<char>> seen(36);
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewRequestId();
    ASSERT_EQ(id.size(), seen.size());
    for (size_t at = 0; at < id.size(); ++at) {
      seen[at].insert(id[at]);
    }
  }
  std::map<size_t, size_t> fewer;
  for (size_t at = 0; at < seen.size(); ++at) {
    if (seen[at].size() != 16) {
      fewer[at] = seen[at].size();
    }
  }
  EXPECT_THAT(fewer, ElementsAre(Pair(8, 1), Pair(13, 1), Pair(14, 1),
                                 Pair(18, 1), Pair(19, 4), Pair(23, 1)));
}

}  // namespace
}  // namespace client

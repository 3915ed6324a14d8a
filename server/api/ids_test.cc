#include "server/api/ids.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "server/api/names.h"

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

}  // namespace
}  // namespace server

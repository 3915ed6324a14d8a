#include "sandbox/base/paths.h"

#include "gtest/gtest.h"

namespace sandbox {
namespace {

TEST(PathsTest, ReportsWhetherAPathIsBelowADirectory) {
  EXPECT_TRUE(IsWithin("/a", "/a"));
  EXPECT_TRUE(IsWithin("/a/b", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/"));
  EXPECT_TRUE(IsWithin("/", "/"));
  EXPECT_FALSE(IsWithin("/ab", "/a"));
  EXPECT_FALSE(IsWithin("/", "/a"));
  EXPECT_FALSE(IsWithin("/b/a", "/a"));
}

TEST(PathsTest, StripsSlashesAtTheEnd) {
  EXPECT_EQ(StripTrailingSlashes("/a//"), "/a");
  EXPECT_EQ(StripTrailingSlashes("/a/b"), "/a/b");
  EXPECT_EQ(StripTrailingSlashes("//"), "/");
}

}  // namespace
}  // namespace sandbox

#include "bridge/acp/sessions/path_map.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(PathMapTest, MapsByTheLongestDirectory) {
  PathMap map;
  ASSERT_TRUE(map.Add("/home/me=/srv/me").ok());
  ASSERT_TRUE(map.Add("/home/me/big/=/mnt/big").ok());
  EXPECT_EQ(map.ToRemote("/home/me"), "/srv/me");
  EXPECT_EQ(map.ToRemote("/home/me/a"), "/srv/me/a");
  EXPECT_EQ(map.ToRemote("/home/me/big/b"), "/mnt/big/b");
  EXPECT_EQ(map.ToRemote("/home/men"), "/home/men");
  ASSERT_TRUE(map.Add("/=/remote").ok());
  EXPECT_EQ(map.ToRemote("/usr"), "/remote/usr");
}

TEST(PathMapTest, MapsByTheFirstOfTwoEntriesForADirectory) {
  PathMap map;
  ASSERT_TRUE(map.Add("/w=/first").ok());
  ASSERT_TRUE(map.Add("/w=/second").ok());
  EXPECT_EQ(map.ToRemote("/w"), "/first");
  EXPECT_EQ(map.ReplaceIn("/w/a"), "/first/a");
}

TEST(PathMapTest, ReplacesTheLongestPathInAText) {
  PathMap map;
  ASSERT_TRUE(map.Add("/w=/srv/w").ok());
  ASSERT_TRUE(map.Add("/w/big=/mnt/big").ok());
  EXPECT_EQ(map.ReplaceIn("/w/big/a /w/bigger"), "/mnt/big/a /srv/w/bigger");
}

TEST(PathMapTest, ReplacesWholePathsInATextOnly) {
  PathMap map;
  ASSERT_TRUE(map.Add("/w=/srv/w").ok());
  EXPECT_EQ(map.ReplaceIn("cd '/w' && cat /w/a -I/w:/w"),
            "cd '/srv/w' && cat /srv/w/a -I/w:/srv/w");
  for (const char* other :
       {"", "/work", "a/w", "/x/w", "/w.txt", "../w", "/w_x", "/w-x", "/w+x",
        "/w@x", "/w%x", "/w~", "/w\xC3\xA9"}) {
    EXPECT_EQ(map.ReplaceIn(other), other);
  }
}

TEST(PathMapTest, RefusesWhatIsNoPairOfPaths) {
  PathMap map;
  for (const char* wrong : {"", "/a", "a=/b", "/a=b", "="}) {
    EXPECT_FALSE(map.Add(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace bridge

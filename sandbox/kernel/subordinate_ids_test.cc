#include "sandbox/kernel/subordinate_ids.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

constexpr char kText[] =
    "alice:100000:65536\n"
    "1001:200000:1000\n"
    "bob:300000:10\n"
    "bob:400000:20\n";

TEST(SubordinateIdsTest, AreGivenByNameOrByNumber) {
  const auto named = FindSubordinates(kText, "alice", 1000);
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->first, 100000u);
  EXPECT_EQ(named->count, 65536u);
  const auto numbered = FindSubordinates(kText, "carol", 1001);
  ASSERT_TRUE(numbered.has_value());
  EXPECT_EQ(numbered->first, 200000u);
  EXPECT_EQ(numbered->count, 1000u);
  EXPECT_EQ(FindSubordinates(kText, "bob", 5)->first, 300000u);
}

TEST(SubordinateIdsTest, AreNotThoseOfOthers) {
  EXPECT_FALSE(FindSubordinates(kText, "carol", 1002).has_value());
  EXPECT_FALSE(FindSubordinates(kText, "ali", 1002).has_value());
  EXPECT_FALSE(FindSubordinates(kText, "", 1002).has_value());
  EXPECT_FALSE(FindSubordinates("", "alice", 1000).has_value());
}

TEST(SubordinateIdsTest, AreNotReadFromALineThatIsDamaged) {
  for (const char* line :
       {"alice:100000", "alice:100000:0", "alice:x:65536", "alice:1:2:3",
        ":100000:65536", "alice:100000:99999999999"}) {
    EXPECT_FALSE(FindSubordinates(line, "alice", 1000).has_value()) << line;
  }
}

TEST(SubordinateIdsTest, FindTheNameOfAUser) {
  constexpr char kUsers[] =
      "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:100::/home/alice:/bin/"
      "sh\n";
  EXPECT_EQ(FindUserName(kUsers, 1000), "alice");
  EXPECT_EQ(FindUserName(kUsers, 0), "root");
  EXPECT_EQ(FindUserName(kUsers, 100), "");
  EXPECT_EQ(FindUserName("a line", 100), "");
}

TEST(SubordinateIdsTest, AreMissingWhereTheHostHasNone) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  std::ifstream file("/etc/subuid");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (FindSubordinates(text, "root", 0).has_value()) {
    GTEST_SKIP() << "this host has some for root";
  }
  EXPECT_FALSE(SubordinateIds::Prepare().has_value());
}

}  // namespace
}  // namespace sandbox

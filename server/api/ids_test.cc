#include "server/api/ids.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "server/api/names.h"

namespace server {
namespace {

TEST(IdsTest, AreTenLettersAndDigitsThatBeginWithALetter) {
  for (int i = 0; i < 1000; ++i) {
    const std::string id = MakeId();
    EXPECT_TRUE(IsValidId(id)) << id;
    EXPECT_EQ(id.size(), 10) << id;
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567"),
              std::string::npos)
        << id;
    EXPECT_TRUE(id[0] >= 'a' && id[0] <= 'z') << id;
  }
}

TEST(IdsTest, UseEveryLetterAndNeverRepeat) {
  std::set<std::string> ids;
  std::set<char> letters;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = MakeId();
    letters.insert(id.begin(), id.end());
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000);
  EXPECT_EQ(letters.size(), 32);
}

TEST(IdsTest, TheSameDigestHasTheSameId) {
  // Only the first ten bytes count. A digit is never the first character.
  const std::string digest("\x1b\x1b\x00\x19\x1a\x1f\x20\xff\x80\x7f more", 15);
  EXPECT_EQ(IdOf(digest), "b3az27a7a7");
  EXPECT_EQ(IdOf(digest.substr(0, 10)), IdOf(digest));
}

}  // namespace
}  // namespace server

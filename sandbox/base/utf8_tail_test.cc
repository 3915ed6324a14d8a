#include "sandbox/base/utf8_tail.h"

#include <string>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

TEST(Utf8TailTest, CountsTheBytesOfACharacterThatWasCut) {
  for (const std::string character :
       {"\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80"}) {
    for (size_t size = 1; size < character.size(); ++size) {
      EXPECT_EQ(IncompleteUtf8Tail(character.substr(0, size)), size);
      EXPECT_EQ(IncompleteUtf8Tail("a" + character.substr(0, size)), size);
    }
    EXPECT_EQ(IncompleteUtf8Tail(character), 0U);
    EXPECT_EQ(IncompleteUtf8Tail(character + "a"), 0U);
  }
  EXPECT_EQ(IncompleteUtf8Tail(""), 0U);
  EXPECT_EQ(IncompleteUtf8Tail("a"), 0U);
}

TEST(Utf8TailTest, CountsNoBytesThatAreNotUtf8) {
  EXPECT_EQ(IncompleteUtf8Tail("\x80"), 0U);
  EXPECT_EQ(IncompleteUtf8Tail("\x80\x80\x80\x80"), 0U);
  EXPECT_EQ(IncompleteUtf8Tail("a\x80"), 0U);
  EXPECT_EQ(IncompleteUtf8Tail("\xf0\x80\x80\x80\x80"), 0U);
}

}  // namespace
}  // namespace sandbox

#include "sandbox/base/utf8_tail.h"

#include <string>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

TEST(Utf8TailTest, CountsTheBytesOfACharacterThatWasCut) {
  for (const std::string character :
       {"\xc2\xa2", "\xc3\xa9", "\xdf\xbf", "\xe0\xa4\xb6", "\xe2\x80\x99",
        "\xe6\xbc\xa2", "\xef\xbf\xbd", "\xf0\x9f\x98\x80",
        "\xf4\x8f\xbf\xbf"}) {
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
  EXPECT_EQ(IncompleteUtf8Tail("a\xc0"), 0U);
  EXPECT_EQ(IncompleteUtf8Tail("a\xc1"), 0U);
  EXPECT_EQ(IncompleteUtf8Tail("\xf0\x80\x80\x80\x80"), 0U);
}

}  // namespace
}  // namespace sandbox

#include "bridge/mcp/terminal/plain_text.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(PlainText, RemovesSequencesAndKeepsText) {
  EXPECT_EQ(PlainText("\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07"
                      "a\tb\x1b(B"),
            "red\na\tb");
  EXPECT_EQ(PlainText("\x1bP1$r0m\x1b\\x\x1b]8;;u\x1b\\y"), "xy");
}

TEST(PlainText, KnowsWhereEverySequenceEnds) {
  for (const char* const sequence :
       {"\x1b[2@", "\x1b[3~", "\x1b[?25h", "\x1b(B", "\x1b$(C", "\x1b F",
        "\x1b/A", "\0337", "\x1b=", "\x1b^p\x07", "\x1b_a\x1b\\",
        "\x1bXs\x07"}) {
    EXPECT_EQ(PlainText(std::string("a") + sequence + "bc"), "abc")
        << (sequence + 1);
  }
}

TEST(PlainText, RemovesControlCharacters) {
  EXPECT_EQ(PlainText("a\x01\x07\x7f!\x1f~"), "a!~");
}

TEST(PlainText, BeginsALineAnewAfterACarriageReturn) {
  EXPECT_EQ(PlainText("10%\r50%\r100%\r\ndone\r"), "100%\ndone");
  EXPECT_EQ(PlainText("a\n10%\r\tx"), "a\n\tx");
}

TEST(PlainText, TakesCharactersBackWithBackspaces) {
  EXPECT_EQ(PlainText("ab\xc3\xa9\b\bx\n\b\by"), "ax\ny");
}

TEST(PlainText, SurvivesSequencesThatAreCutOff) {
  for (const char* cut :
       {"a\x1b", "a\x1b[", "a\x1b[31", "a\x1b]0;t", "a\x1b(", "a\x1bP"}) {
    EXPECT_EQ(PlainText(cut), "a");
  }
}

}  // namespace
}  // namespace bridge

#include "bridge/mcp/terminal/plain_text.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(PlainText, RemovesSequencesAndKeepsText) {
  EXPECT_EQ(PlainText("\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07"
                      "a\tb\x1b(B"),
            "red\na\tb");
  EXPECT_EQ(PlainText("\x1bP1$r0m\x1b\\x\x1b]8;;u\x1b\\y"), "xy");
}

TEST(PlainText, BeginsALineAnewAfterACarriageReturn) {
  EXPECT_EQ(PlainText("10%\r50%\r100%\r\ndone\r"), "100%\ndone");
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

#include "bridge/mcp/terminal/question_finder.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(QuestionFinder, FindsEveryKindOfQuestion) {
  for (const char* question :
       {"\x1b[c", "\x1b[>0c", "\x1b[6n", "\x1b[?2026$p", "\x1b[>q", "\x1b[18t",
        "\x1b[?u", "\x1b]11;?\x07", "\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\",
        "\x1bZ"}) {
    QuestionFinder finder;
    EXPECT_TRUE(finder.Find(std::string("text") + question + "more"));
  }
}

TEST(QuestionFinder, FindsAQuestionThatArrivesInParts) {
  QuestionFinder finder;
  EXPECT_FALSE(finder.Find("\x1b"));
  EXPECT_FALSE(finder.Find("[6"));
  EXPECT_TRUE(finder.Find("n"));
  EXPECT_FALSE(finder.Find("n"));
}

TEST(QuestionFinder, FindsNoneInTextAndColours) {
  QuestionFinder finder;
  EXPECT_FALSE(
      finder.Find("plain\r\n\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07"));
  // A title and a string of other commands that would be questions elsewhere.
  EXPECT_FALSE(finder.Find("\x1b]0;quit\x07\x1bP0;?r\x1b\\"));
}

TEST(QuestionFinder, FindsAQuestionAfterAnything) {
  QuestionFinder finder;
  EXPECT_TRUE(finder.Find("\x1b\x1b[c"));
  // Text is no part of a sequence that has only begun.
  EXPECT_FALSE(finder.Find(std::string(600, 'x') + "\x1b[6"));
  EXPECT_TRUE(finder.Find("n"));
}

TEST(QuestionFinder, TakesNothingAfterASequenceForAPartOfIt) {
  // The first and the last byte that may end a control sequence, and strings.
  for (const char* const sequence :
       {"\x1b[1@c", "\x1b[3~c", "\x1b]0;t\x07?", "\x1bP0\x1b\\q"}) {
    QuestionFinder finder;
    EXPECT_FALSE(finder.Find(sequence)) << sequence;
  }
  for (const char* const empty : {"\x1b]\x07", "\x1bP\x1b\\"}) {
    QuestionFinder finder;
    EXPECT_FALSE(finder.Find(empty));
    EXPECT_FALSE(finder.Find("?q\x07"));
  }
}

TEST(QuestionFinder, FindsAQuestionBeforeOneThatHasOnlyBegun) {
  QuestionFinder finder;
  EXPECT_TRUE(finder.Find("\x1b[6n\x1b["));
  EXPECT_TRUE(finder.Find("c"));
}

TEST(QuestionFinder, GivesUpAQuestionOfMoreThan512Bytes) {
  for (const size_t size : {512, 513}) {
    QuestionFinder finder;
    std::string begun = "\x1b]11;?";
    begun.resize(size, 'x');
    EXPECT_FALSE(finder.Find(begun));
    EXPECT_EQ(finder.Find("\x07"), size == 512);
    EXPECT_TRUE(finder.Find("\x1b[c"));
  }
}

}  // namespace
}  // namespace bridge

#include "bridge/acp/terminals/terminal.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TerminalTest, HoldsBackACharacterThatIsCutUntilTheEnd) {
  Terminal terminal(100);
  terminal.Append(0, "a\xE2\x82");
  EXPECT_EQ(terminal.output(), "a");
  EXPECT_EQ(terminal.cursor(), 3u);
  terminal.Exit({0, {}});
  EXPECT_EQ(terminal.output(), "a\xEF\xBF\xBD");
  EXPECT_FALSE(terminal.truncated());
}

TEST(TerminalTest, CountsTheLimitAfterReplacement) {
  Terminal terminal(6);
  terminal.Append(0, "\xFF\xFF\xFF");
  EXPECT_EQ(terminal.output(), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_TRUE(terminal.truncated());
}

TEST(TerminalTest, SkipsBytesThatItKnows) {
  Terminal terminal(100);
  terminal.Append(0, "abc");
  terminal.Append(1, "bcd");
  terminal.Append(0, "ab");
  EXPECT_EQ(terminal.output(), "abcd");
  EXPECT_EQ(terminal.cursor(), 4u);
  EXPECT_FALSE(terminal.truncated());
}

TEST(TerminalTest, IsTruncatedByAGap) {
  Terminal terminal(100);
  terminal.Append(0, "a\xE2");
  terminal.SkipTo(10);
  terminal.Append(10, "b");
  EXPECT_EQ(terminal.output(),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(terminal.cursor(), 11u);
  EXPECT_TRUE(terminal.truncated());
}

TEST(TerminalTest, CompletesNoCharacterAcrossAGap) {
  Terminal terminal(100);
  terminal.Append(0, "\xE2");
  terminal.SkipTo(10);
  terminal.Append(10, "\x82\xAC");
  EXPECT_EQ(terminal.output(), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(TerminalTest, IsTruncatedByOutputThatBeginsLater) {
  Terminal terminal(100);
  terminal.Append(0, "a");
  EXPECT_EQ(terminal.Append(5, "b"), "b");
  EXPECT_EQ(terminal.output(), "ab");
  EXPECT_EQ(terminal.cursor(), 6u);
  EXPECT_TRUE(terminal.truncated());
}

TEST(TerminalTest, BeginsItsOwnLineAfterTheLastOneOfTheCommand) {
  const struct {
    const char* output;
    const char* text;  // what is new
    const char* all;
  } cases[] = {
      {"", "note\n", "note\n"},
      {"a\n", "note\n", "a\nnote\n"},
      {"a", "\nnote\n", "a\nnote\n"},
      // A character is cut.
      {"a\n\xE2", "\xEF\xBF\xBD\nnote\n", "a\n\xEF\xBF\xBD\nnote\n"},
  };
  for (const auto& example : cases) {
    Terminal terminal(100);
    terminal.Append(0, example.output);
    EXPECT_EQ(terminal.AppendLine("note\n"), example.text);
    EXPECT_EQ(terminal.output(), example.all);
  }
}

TEST(TerminalTest, ReturnsEveryWaitOnce) {
  Terminal terminal(100);
  terminal.AddWait("1");
  terminal.AddWait("\"x\"");
  EXPECT_THAT(terminal.Exit({std::nullopt, "SIGKILL"}),
              ElementsAre("1", "\"x\""));
  EXPECT_EQ(terminal.state(), Terminal::State::kExited);
  EXPECT_THAT(terminal.Exit({0, {}}), IsEmpty());
  EXPECT_THAT(terminal.Lose("gone"), IsEmpty());
  EXPECT_EQ(terminal.state(), Terminal::State::kExited);
  EXPECT_EQ(terminal.exit_status().signal, "SIGKILL");
  EXPECT_EQ(terminal.lost_reason(), "");
}

TEST(TerminalTest, ReturnsItsWaitsWhenItIsLost) {
  Terminal terminal(100);
  terminal.AddWait("0");
  EXPECT_THAT(terminal.Lose("gone"), ElementsAre("0"));
  EXPECT_EQ(terminal.state(), Terminal::State::kLost);
  EXPECT_THAT(terminal.Exit({0, {}}), IsEmpty());
  EXPECT_THAT(terminal.Lose("another reason"), IsEmpty());
  EXPECT_EQ(terminal.state(), Terminal::State::kLost);
  EXPECT_EQ(terminal.lost_reason(), "gone");
  EXPECT_EQ(terminal.exit_status().code, std::nullopt);
}

TEST(TerminalTest, ForgetsACancelledWait) {
  Terminal terminal(100);
  terminal.AddWait("\"a\"");
  terminal.AddWait("2");
  EXPECT_FALSE(terminal.RemoveWait("3"));
  EXPECT_FALSE(terminal.RemoveWait("\"2\""));
  EXPECT_TRUE(terminal.RemoveWait("\"\\u0061\""));
  EXPECT_FALSE(terminal.RemoveWait("\"a\""));
  terminal.AddWait("\"\\u0062\"");
  EXPECT_TRUE(terminal.RemoveWait("\"b\""));
  EXPECT_THAT(terminal.Exit({0, {}}), ElementsAre("2"));
}

}  // namespace
}  // namespace bridge

#include "bridge/cli/attach/detach_keys.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(DetachKeysTest, FindsTheKeysAndDoesNotPassThemOn) {
  DetachKeys keys = *DetachKeys::Parse("ctrl-p,ctrl-q");
  EXPECT_EQ(keys.Filter("ab\x10\x11zz"), "ab");
  EXPECT_TRUE(keys.found());
  EXPECT_EQ(keys.Filter("more"), "");
}

TEST(DetachKeysTest, FindsTheKeysAcrossReads) {
  DetachKeys keys = *DetachKeys::Parse("ctrl-p,ctrl-q");
  EXPECT_EQ(keys.Filter("a\x10"), "a");
  EXPECT_FALSE(keys.found());
  EXPECT_EQ(keys.Filter("\x11"), "");
  EXPECT_TRUE(keys.found());
}

TEST(DetachKeysTest, PassesOnABeginningThatDoesNotContinue) {
  DetachKeys keys = *DetachKeys::Parse("ctrl-p,ctrl-q");
  EXPECT_EQ(keys.Filter("\x10"), "");
  EXPECT_EQ(keys.Filter("\x10"), "\x10");
  EXPECT_EQ(keys.Filter("x"), "\x10x");
  EXPECT_FALSE(keys.found());
}

TEST(DetachKeysTest, FindsKeysThatOverlapThemselves) {
  DetachKeys keys = *DetachKeys::Parse("a,a,b");
  EXPECT_EQ(keys.Filter("aaab"), "a");
  EXPECT_TRUE(keys.found());
}

TEST(DetachKeysTest, FindsNothingWithoutKeys) {
  DetachKeys keys = *DetachKeys::Parse("");
  EXPECT_EQ(keys.Filter("\x10\x11"), "\x10\x11");
  EXPECT_FALSE(keys.found());
}

TEST(DetachKeysTest, TakesEveryControlKeyInEitherCase) {
  const std::string keys_of[][2] = {{"ctrl-@", std::string(1, '\0')},
                                    {"ctrl-a", "\x01"},
                                    {"ctrl-Z", "\x1a"},
                                    {"ctrl-[", "\x1b"},
                                    {"ctrl-_", "\x1f"}};
  for (const auto& [text, typed] : keys_of) {
    DetachKeys keys = *DetachKeys::Parse(text);
    EXPECT_EQ(keys.Filter(typed), "") << text;
    EXPECT_TRUE(keys.found()) << text;
  }
}

TEST(DetachKeysTest, RefusesTextThatIsNotAKey) {
  for (const char* text : {"ctrl-", "ctrl-1", "ctrl-?", "ctrl-`", "alt-x", "ab",
                           "a,,b", ",", " ", "\x01", "\x7f"}) {
    EXPECT_FALSE(DetachKeys::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace bridge

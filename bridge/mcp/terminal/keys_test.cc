#include "bridge/mcp/terminal/keys.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(KeyBytes, ReturnsTheBytesOfEveryKindOfKey) {
  const std::vector<std::pair<std::string, std::string>> keys = {
      {"Enter", "\r"},         {"Backspace", "\x7f"},
      {"ArrowLeft", "\x1b[D"}, {"Delete", "\x1b[3~"},
      {"PageDown", "\x1b[6~"}, {"F1", "\x1bOP"},
      {"F5", "\x1b[15~"},      {"F12", "\x1b[24~"},
      {"Ctrl+A", "\x01"},      {"Ctrl+Z", "\x1a"},
      {"Ctrl+\\", "\x1c"},     {"Ctrl+Space", std::string(1, '\0')}};
  for (const auto& [key, bytes] : keys) {
    EXPECT_EQ(KeyBytes(key).value(), bytes) << key;
  }
}

TEST(KeyBytes, IgnoresCaseAndSpaceAroundTheName) {
  EXPECT_EQ(KeyBytes("  CTRL+u ").value(), "\x15");
  EXPECT_EQ(KeyBytes("arrowup").value(), "\x1b[A");
}

TEST(KeyBytes, NamesTheFirstKeysWhenThereIsNoSuchKey) {
  for (const char* key : {"", "a", "Up", "Shift+Tab", "Alt+F", "constructor"}) {
    EXPECT_EQ(KeyBytes(key).status().message(),
              absl::StrCat("Unknown key: \"", key,
                           "\". Available keys include: Enter, Tab, Escape, "
                           "Backspace, Delete, ArrowUp, ArrowDown, ArrowRight, "
                           "ArrowLeft, Home, End, PageUp, PageDown, Insert, "
                           "F1..."));
  }
}

TEST(ModifiedKeyBytes, EncodesAsXtermDoes) {
  const Modifiers none;
  const Modifiers shift = {true, false, false};
  const Modifiers alt = {false, true, false};
  const Modifiers ctrl = {false, false, true};
  const Modifiers all = {true, true, true};
  const std::vector<std::tuple<std::string, Modifiers, std::string>> keys = {
      {"ArrowUp", ctrl, "\x1b[1;5A"},
      {"ArrowUp", all, "\x1b[1;8A"},
      {"Home", shift, "\x1b[1;2H"},
      {"F1", alt, "\x1b[1;3P"},
      {"F5", ctrl, "\x1b[15;5~"},
      {"Delete", shift, "\x1b[3;2~"},
      {"Tab", shift, "\x1b[Z"},
      {"Tab", alt, "\x1b\t"},
      {"Enter", alt, "\x1b\r"},
      {"Backspace", alt, "\x1b\x7f"},
      {"Backspace", ctrl, "\b"},
      {"Ctrl+C", alt, "\x1b\x03"},
      {"f", alt,
       "\x1b"
       "f"},
      {"f", all, "\x1b\x06"},
      {"x", ctrl, "\x18"},
      {"x", shift, "X"},
      {"3", ctrl, "\x1b"},
      {"/", ctrl, "\x1f"},
      {"?", ctrl, "\x7f"},
      {"space", ctrl, std::string(1, '\0')},
      {" ", alt, "\x1b "},
      {"+", ctrl, "+"},
      {"\xc3\xa9", alt, "\x1b\xc3\xa9"},
      {"y", none, "y"}};
  for (const auto& [key, modifiers, bytes] : keys) {
    EXPECT_EQ(ModifiedKeyBytes(key, modifiers).value(), bytes) << key;
  }
}

TEST(ModifiedKeyBytes, MakesControlCharactersAsAKeyboardDoes) {
  const std::pair<const char*, char> keys[] = {
      {"@", '\0'},   {"A", '\x01'}, {"z", '\x1a'}, {"_", '\x1f'}, {"`", '\0'},
      {"{", '\x1b'}, {"~", '\x1e'}, {"2", '\0'},   {"3", '\x1b'}, {"4", '\x1c'},
      {"5", '\x1d'}, {"6", '\x1e'}, {"7", '\x1f'}, {"8", '\x7f'}, {"9", '9'},
      {"1", '1'},    {"!", '!'},    {">", '>'}};
  for (const auto& [key, byte] : keys) {
    EXPECT_EQ(ModifiedKeyBytes(key, {false, false, true}).value(),
              std::string(1, byte))
        << key;
  }
}

TEST(ModifiedKeyBytes, RefusesWhatIsNoKey) {
  for (const char* key : {"", "ab", "Shift+Tab", "constructor"}) {
    EXPECT_FALSE(ModifiedKeyBytes(key, {true, false, false}).ok()) << key;
  }
}

TEST(Keys, AreAsTheyAreWithoutModifiers) {
  EXPECT_EQ(ModifiedKeyBytes("ArrowUp", {}).value(), "\x1b[A");
  EXPECT_EQ(ModifiedKeyBytes("Tab", {}).value(), "\t");
}

TEST(Keys, FollowTheModeOfTheCursorKeys) {
  EXPECT_EQ(ApplicationKeyBytes(KeyBytes("ArrowUp").value()), "\x1bOA");
  EXPECT_EQ(ApplicationKeyBytes(KeyBytes("End").value()), "\x1bOF");
  for (const char* const key : {"F1", "PageUp", "Escape", "Enter", "Insert"}) {
    EXPECT_EQ(ApplicationKeyBytes(KeyBytes(key).value()),
              KeyBytes(key).value());
  }
}

}  // namespace
}  // namespace bridge

#include "bridge/mcp/terminal/keys.h"

#include <string>
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

}  // namespace
}  // namespace bridge

#include "bridge/cli/report/text_table.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(TextTableTest, PadsEachColumnButTheLast) {
  EXPECT_EQ(FormatTable({{"A", "B", "C"}, {"long", "", "end"}}, 0),
            "A     B  C\n"
            "long     end\n");
}

TEST(TextTableTest, CutsLinesOff) {
  EXPECT_EQ(FormatTable({{"abc", "def"}}, 6), "abc  d\n");
  EXPECT_EQ(FormatTable({{"abc", "def"}}, 8), "abc  def\n");
}

TEST(TextTableTest, EscapesControlCharacters) {
  EXPECT_EQ(FormatTable({{"a\x1b[2Jb\n", "c"}, {"x", "\x7f"}}, 0),
            "a\\x1b[2Jb\\n  c\n"
            "x            \\x7f\n");
}

TEST(TextTableTest, CountsAndCutsCharactersNotBytes) {
  EXPECT_EQ(FormatTable({{"\u00e4", "x"}, {"abc", "\u00e4\u00e4"}}, 0),
            "\u00e4    x\n"
            "abc  \u00e4\u00e4\n");
  EXPECT_EQ(FormatTable({{"a", "\u00e4\u00e4"}}, 4), "a  \u00e4\n");
  EXPECT_EQ(FormatTable({{"\xff"}}, 0), "\\xff\n");
}

TEST(TextTableTest, TakesRowsOfDifferentLengths) {
  EXPECT_EQ(FormatTable({{"a"}, {"b", "c"}}, 0), "a\nb  c\n");
  EXPECT_EQ(FormatTable({{"a", "wide", "c"}, {"d"}, {"e", "f", "g"}}, 0),
            "a  wide  c\nd\ne  f     g\n");
}

}  // namespace
}  // namespace bridge

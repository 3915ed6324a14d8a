#include "bridge/mcp/terminal/shell_marks.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(ShellMarks, FindsWhereCommandsBeginAndEnd) {
  ShellMarks parser;
  const std::string output =
      "\x1b]133;C\x1b\\out\x1b]133;D;3\x07\x1b]133;A\x07$ ";
  const std::vector<ShellMark> marks = parser.Find(100, output);
  ASSERT_EQ(marks.size(), 3);
  EXPECT_EQ(marks[0].kind, 'C');
  EXPECT_EQ(marks[0].begin, 100);
  EXPECT_EQ(marks[0].end, 109);
  EXPECT_EQ(marks[1].kind, 'D');
  EXPECT_EQ(marks[1].exit_code, 3);
  EXPECT_EQ(marks[1].begin, 112);
  EXPECT_EQ(marks[2].kind, 'A');
}

TEST(ShellMarks, FindsAMarkInAnyTwoParts) {
  const std::string output = "ab\x1b]133;D;0\x1b\\cd";
  for (size_t cut = 0; cut <= output.size(); ++cut) {
    ShellMarks parser;
    std::vector<ShellMark> marks = parser.Find(0, output.substr(0, cut));
    for (const ShellMark& mark : parser.Find(cut, output.substr(cut))) {
      marks.push_back(mark);
    }
    ASSERT_EQ(marks.size(), 1) << cut;
    EXPECT_EQ(marks[0].exit_code, 0);
    EXPECT_EQ(marks[0].begin, 2);
    EXPECT_EQ(marks[0].end, output.size() - 2);
  }
}

TEST(ShellMarks, KnowsNoExitCodeWithoutANumber) {
  ShellMarks parser;
  EXPECT_EQ(parser.Find(0, "\x1b]133;D\x07").front().exit_code, -1);
}

}  // namespace
}  // namespace bridge

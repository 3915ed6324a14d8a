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

TEST(ShellMarks, FindsAMarkByteByByte) {
  const std::string output = "ab\x1b\x1b]133;D;5\x07\x1b]133;A\x07";
  ShellMarks parser;
  std::string kinds;
  for (size_t at = 0; at < output.size(); ++at) {
    for (const ShellMark& mark : parser.Find(at, output.substr(at, 1))) {
      kinds += mark.kind;
      EXPECT_EQ(mark.begin, kinds == "D" ? 3 : 13);
      EXPECT_EQ(mark.end, at + 1);
    }
  }
  EXPECT_EQ(kinds, "DA");
}

TEST(ShellMarks, FindsAMarkAfterALongText) {
  ShellMarks parser;
  EXPECT_TRUE(parser.Find(0, std::string(200, 'x') + "\x1b]133;D;").empty());
  const std::vector<ShellMark> marks = parser.Find(208, "3\x07more");
  ASSERT_EQ(marks.size(), 1);
  EXPECT_EQ(marks[0].exit_code, 3);
  EXPECT_EQ(marks[0].begin, 200);
  EXPECT_EQ(marks[0].end, 210);
}

TEST(ShellMarks, KnowsAnExitCodeOnlyOfAnEndWithANumber) {
  const struct {
    const char* mark;
    char kind;
    int exit_code;
  } cases[] = {
      {"\x1b]133;D\x07", 'D', -1},   {"\x1b]133;D;\x07", 'D', -1},
      {"\x1b]133;D;x\x07", 'D', -1}, {"\x1b]133;D;130;aid=1\x07", 'D', 130},
      {"\x1b]133;C;1\x07", 'C', -1}, {"\x1b]133;\x07", '\0', -1}};
  for (const auto& example : cases) {
    ShellMarks parser;
    const std::vector<ShellMark> marks = parser.Find(0, example.mark);
    ASSERT_EQ(marks.size(), 1) << example.mark;
    EXPECT_EQ(marks[0].kind, example.kind) << example.mark;
    EXPECT_EQ(marks[0].exit_code, example.exit_code) << example.mark;
  }
}

TEST(ShellMarks, GivesUpAMarkOfMoreThan128Bytes) {
  for (const size_t size : {128, 129}) {
    ShellMarks parser;
    const std::string begun = "\x1b]133;D;3;";
    EXPECT_TRUE(parser.Find(0, begun).empty());
    EXPECT_TRUE(parser.Find(begun.size(), std::string(size - begun.size(), 'x'))
                    .empty());
    EXPECT_EQ(parser.Find(size, "\x07").size(), size == 128 ? 1 : 0);
    EXPECT_EQ(parser.Find(size + 1, "\x1b]133;A\x07").size(), 1);
  }
}

}  // namespace
}  // namespace bridge

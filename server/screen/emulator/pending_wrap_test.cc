// A character in the last column leaves the cursor behind it, until the next
// character begins a line.

#include <string>

#include "gtest/gtest.h"
#include "server/screen/emulator/terminal.h"

namespace screen {
namespace {

class PendingWrapTest : public ::testing::Test {
 protected:
  CursorPosition CursorAfter(const std::string& output) {
    terminal_.Write(output);
    return terminal_.cursor();
  }
  int ColumnAfter(const std::string& output) {
    return CursorAfter(output).column;
  }

  const std::string line_ = std::string(20, 'x');
  Terminal terminal_{5, 20, 0};
};

TEST_F(PendingWrapTest, IsAColumnBehindTheLast) {
  EXPECT_EQ(ColumnAfter(line_), 20);
  EXPECT_EQ(ColumnAfter("\x1b[31m"), 20);
  EXPECT_EQ(ColumnAfter("\x1b[1;20H"), 19);
  EXPECT_EQ(CursorAfter("yz").row, 1);
  EXPECT_EQ(ColumnAfter("\x1b[?7l" + line_), 19);
}

TEST_F(PendingWrapTest, EndsWhenAControlCharacterMovesTheCursor) {
  EXPECT_EQ(ColumnAfter(line_ + "\a"), 20);
  EXPECT_EQ(ColumnAfter("\r"), 0);
  EXPECT_EQ(ColumnAfter(line_ + "\n"), 19);
  EXPECT_EQ(ColumnAfter("\r" + line_ + "\033M"), 19);
  EXPECT_EQ(ColumnAfter("\r" + line_ + "\033E"), 0);
}

TEST_F(PendingWrapTest, EndsWhenTheCursorIsRestored) {
  EXPECT_EQ(ColumnAfter("\x1b[1;20H\0337x\0338"), 19);
}

TEST_F(PendingWrapTest, OutlastsAClear) {
  CursorAfter("\r\n" + line_);
  terminal_.Clear();
  EXPECT_EQ(ColumnAfter(""), 20);
  // To where the last character was before.
  EXPECT_EQ(ColumnAfter("\n"), 19);
}

TEST_F(PendingWrapTest, OutlastsSequencesThatEndLikeThoseThatMoveTheCursor) {
  EXPECT_EQ(ColumnAfter(line_ + "\x1b[?1r"), 20);
  EXPECT_EQ(ColumnAfter("\x1b[1$r"), 20);
  EXPECT_EQ(ColumnAfter("\x1b[1r"), 0);
}

}  // namespace
}  // namespace screen

#include "server/screen/emulator/cell_grid.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/screen/emulator/cell.h"
#include "server/screen/emulator/scrollback.h"

namespace screen {
namespace {

constexpr int kRows = 4;
constexpr int kColumns = 6;

CellStyle Background(uint32_t color) {
  CellStyle style;
  style.background = {CellColor::Kind::kIndex, color};
  return style;
}

Cell MakeCell(char character, uint8_t width = 1) {
  Cell cell;
  cell.characters[0] = static_cast<uint8_t>(character);
  cell.width = width;
  return cell;
}

class CellGridTest : public ::testing::Test {
 protected:
  // Fills the grid: "abcdef", "ghijkl", "mnopqr", "stuvwx".
  CellGridTest() {
    for (int i = 0; i < kRows * kColumns; ++i) {
      grid_.Put(i / kColumns, i % kColumns,
                MakeCell(static_cast<char>('a' + i)));
    }
  }
  // The row as text: '.' for an erased cell, '>' for the second half of a wide
  // character, which is itself in upper case.
  std::string Row(int row) const {
    std::string text;
    for (const Cell& cell : grid_.row(row)) {
      text += cell.width == 0 ? '>'
              : !cell.written()
                  ? '.'
                  : static_cast<char>(cell.characters[0] -
                                      (cell.width == 2 ? 'a' - 'A' : 0));
    }
    return text;
  }
  std::string All() const {
    return Row(0) + " " + Row(1) + " " + Row(2) + " " + Row(3);
  }

  CellGrid grid_{kRows, kColumns};
};

TEST_F(CellGridTest, IgnoresPositionsOutsideOfIt) {
  const std::string before = All();
  for (const auto& [row, column] : {std::pair(-1, 0), std::pair(kRows, 0),
                                    std::pair(0, -1), std::pair(0, kColumns)}) {
    grid_.Put(row, column, MakeCell('z'));
  }
  EXPECT_EQ(All(), before);
  grid_.Put(0, 0, MakeCell('z'));
  grid_.Put(kRows - 1, kColumns - 1, MakeCell('z'));
  EXPECT_EQ(All(), "zbcdef ghijkl mnopqr stuvwz");
}

TEST_F(CellGridTest, AWideCharacterTakesTwoCells) {
  grid_.Put(0, 1, MakeCell('z', 2));
  EXPECT_EQ(Row(0), "aZ>def");
  // There is no room for the second half.
  grid_.Put(1, kColumns - 1, MakeCell('z', 2));
  EXPECT_EQ(Row(1), "ghijkz");
  EXPECT_EQ(grid_.row(1)[kColumns - 1].width, 1);
  grid_.Put(2, kColumns - 2, MakeCell('z', 2));
  EXPECT_EQ(Row(2), "mnopZ>");
}

TEST_F(CellGridTest, ErasesTheHalvesThatAreCut) {
  grid_.Put(0, 1, MakeCell('z', 2));
  grid_.Put(0, 2, MakeCell('y'));
  EXPECT_EQ(Row(0), "a.ydef");
  grid_.Put(1, 1, MakeCell('z', 2));
  grid_.Put(1, 1, MakeCell('y'));
  EXPECT_EQ(Row(1), "gy.jkl");
  grid_.Put(2, 2, MakeCell('z', 2));
  grid_.Put(2, 1, MakeCell('y', 2));
  EXPECT_EQ(Row(2), "mY>.qr");
  grid_.Put(3, 4, MakeCell('z', 2));
  grid_.Erase({3, 4, 5, 6}, {}, false);
  EXPECT_EQ(Row(3), "stuv..");
}

TEST_F(CellGridTest, ErasesWhatIsInsideOfARectangle) {
  grid_.Erase({1, 3, 2, 4}, Background(4), false);
  EXPECT_EQ(All(), "abcdef gh..kl mn..qr stuvwx");
  EXPECT_TRUE(grid_.row(1)[2].style == Background(4));
  EXPECT_FALSE(grid_.row(1)[1].style == Background(4));
  grid_.Erase({3, 90, 3, 90}, {}, false);
  EXPECT_EQ(Row(3), "stu...");
  grid_.Erase({-5, 1, -5, 1}, {}, false);
  EXPECT_EQ(Row(0), ".bcdef");
  // An end before the beginning is no rectangle.
  grid_.Erase({2, 1, 5, 3}, {}, false);
  EXPECT_EQ(Row(2), "mn..qr");
}

TEST_F(CellGridTest, KeepsProtectedCellsOnRequest) {
  Cell kept = MakeCell('z');
  kept.is_protected = true;
  grid_.Put(0, 2, kept);
  grid_.Erase({0, 1, 0, kColumns}, {}, true);
  EXPECT_EQ(Row(0), "..z...");
  grid_.Erase({0, 1, 0, kColumns}, {}, false);
  EXPECT_EQ(Row(0), "......");
}

TEST_F(CellGridTest, ScrollsWholeRowsUpAndDown) {
  grid_.Scroll({1, 4, 0, kColumns}, 1, 0, Background(4));
  EXPECT_EQ(All(), "abcdef mnopqr stuvwx ......");
  EXPECT_TRUE(grid_.row(3)[0].style == Background(4));
  grid_.Scroll({0, 3, 0, kColumns}, -2, 0, {});
  EXPECT_EQ(All(), "...... ...... abcdef ......");
}

TEST_F(CellGridTest, ErasesWhatScrollsOffAltogether) {
  grid_.Scroll({1, 3, 0, kColumns}, 2, 0, {});
  EXPECT_EQ(All(), "abcdef ...... ...... stuvwx");
  grid_.Scroll({0, 1, 1, 3}, 0, -2, {});
  EXPECT_EQ(Row(0), "a..def");
  grid_.Scroll({3, 90, 0, 90}, -1, 0, {});
  EXPECT_EQ(Row(3), "......");
}

TEST_F(CellGridTest, ScrollsAPartOfRows) {
  grid_.Scroll({0, 2, 1, 4}, 0, 1, Background(4));
  EXPECT_EQ(All(), "acd.ef gij.kl mnopqr stuvwx");
  EXPECT_TRUE(grid_.row(0)[3].style == Background(4));
  grid_.Scroll({2, 4, 1, 4}, 0, -1, {});
  EXPECT_EQ(All(), "acd.ef gij.kl m.noqr s.tuwx");
  grid_.Scroll({2, 4, 1, 4}, 1, 0, {});
  EXPECT_EQ(All(), "acd.ef gij.kl m.tuqr s...wx");
  grid_.Scroll({0, 2, 4, 6}, -1, 0, {});
  EXPECT_EQ(All(), "acd... gij.ef m.tuqr s...wx");
}

TEST_F(CellGridTest, ErasesWideCharactersThatTheEdgeOfAPartCuts) {
  // The second half of "B" is in the part, the first half of "D" too.
  grid_.Put(0, 1, MakeCell('b', 2));
  grid_.Put(0, 3, MakeCell('d', 2));
  EXPECT_EQ(Row(0), "aB>D>f");
  grid_.Scroll({0, 1, 2, 4}, 0, 1, {});
  EXPECT_EQ(Row(0), "a....f");
  // A wide character that moves as a whole stays.
  grid_.Put(1, 2, MakeCell('z', 2));
  grid_.Scroll({1, 2, 1, 5}, 0, 1, {});
  EXPECT_EQ(Row(1), "gZ>k.l");
  // The end of the part cuts the first half off.
  grid_.Put(2, 2, MakeCell('z', 2));
  EXPECT_EQ(Row(2), "mnZ>qr");
  grid_.Scroll({2, 3, 1, 4}, 0, -1, Background(4));
  EXPECT_EQ(Row(2), "m.n.qr");
  EXPECT_TRUE(grid_.row(2)[3].style == Background(4));
  // So does the end of the row.
  grid_.Put(3, 4, MakeCell('z', 2));
  grid_.Scroll({3, 4, 3, 6}, 0, -1, {});
  EXPECT_EQ(Row(3), "stu.v.");
}

TEST_F(CellGridTest, AHalfThatMovesWithoutItsCharacterIsAnEmptyCell) {
  grid_.Put(0, 1, MakeCell('z', 2));
  EXPECT_EQ(Row(0), "aZ>def");
  grid_.Scroll({0, 1, 1, 5}, 0, 1, {});
  EXPECT_EQ(Row(0), "a.de.f");
  // The same at the beginning of a row.
  grid_.Put(1, 0, MakeCell('z', 2));
  grid_.Scroll({1, 2, 0, 5}, 0, 1, {});
  EXPECT_EQ(Row(1), ".ijk.l");
}

TEST(Scrollback, KeepsStyledCellsAtTheEndOfALine) {
  CellRow row(5);
  EXPECT_EQ(WrittenLength(row), 0);
  EXPECT_EQ(StyledLength(row), 0);
  row[1] = MakeCell('x');
  EXPECT_EQ(WrittenLength(row), 2);
  EXPECT_EQ(StyledLength(row), 2);
  row[3].style = Background(4);
  EXPECT_EQ(WrittenLength(row), 2);
  EXPECT_EQ(StyledLength(row), 4);
  row[4].width = 0;
  EXPECT_EQ(WrittenLength(row), 5);
  Scrollback scrollback;
  row[4].width = 1;
  scrollback.Add(row);
  ASSERT_EQ(scrollback.lines().size(), 1);
  EXPECT_EQ(scrollback.lines()[0].size(), 4);
}

TEST(Scrollback, ForgetsOldLinesWhenThereAreTooManyCells) {
  constexpr size_t kWidth = 4096;
  constexpr size_t kLines = Scrollback::kMaxCells / kWidth;
  const CellRow row(kWidth, MakeCell('x'));
  Scrollback scrollback;
  for (size_t i = 0; i < kLines; ++i) {
    scrollback.Add(row);
  }
  EXPECT_EQ(scrollback.lines().size(), kLines);
  scrollback.Add(row);
  EXPECT_EQ(scrollback.lines().size(), kLines);
  scrollback.Clear();
  EXPECT_TRUE(scrollback.lines().empty());
  for (size_t i = 0; i < kLines; ++i) {
    scrollback.Add(row);
  }
  EXPECT_EQ(scrollback.lines().size(), kLines);
}

}  // namespace
}  // namespace screen

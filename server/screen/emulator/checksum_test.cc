#include "server/screen/emulator/checksum.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "server/screen/emulator/cell.h"
#include "server/screen/emulator/cell_grid.h"

namespace screen {
namespace {

class ChecksumTest : public ::testing::Test {
 protected:
  ChecksumTest() {
    Put(0, 'a', 1);
    Put(1, 'b', 1);
  }
  void Put(int column, uint32_t character, uint8_t width) {
    Cell cell;
    cell.characters[0] = character;
    cell.width = width;
    grid_.Put(0, column, cell);
  }

  // "ab", and four empty cells, which count as spaces.
  CellGrid grid_{2, 3};
};

TEST_F(ChecksumTest, IsThatOfTheWholeScreenIfNoRectangleIsGiven) {
  for (const char* whole : {"7", "7;1", "7;1;0;0;0;0", "7;1;1;1;2;3",
                            "7;1;1;1;99;99", "7;1;1;1;2;3;1;1"}) {
    EXPECT_EQ(ChecksumAnswer(grid_, whole), "\x1bP7!~FEBD\x1b\\") << whole;
  }
  EXPECT_EQ(ChecksumAnswer(grid_, ""), "\x1bP0!~FEBD\x1b\\");
  EXPECT_EQ(ChecksumAnswer(grid_, "x"), "\x1bP0!~FEBD\x1b\\");
}

TEST_F(ChecksumTest, IsThatOfTheCellsInsideOfTheRectangle) {
  EXPECT_EQ(ChecksumAnswer(grid_, "7;1;1;2;1;2"), "\x1bP7!~FF9E\x1b\\");
  EXPECT_EQ(ChecksumAnswer(grid_, "7;1;2;1;2;3"), "\x1bP7!~FFA0\x1b\\");
  EXPECT_EQ(ChecksumAnswer(grid_, "7;1;3;1;3;3"), "\x1bP7!~0000\x1b\\");
}

TEST_F(ChecksumTest, CountsAWideCharacterOnce) {
  Put(0, 0x6f22, 2);
  EXPECT_EQ(ChecksumAnswer(grid_, "7;1;1;1;1;3"), "\x1bP7!~90BE\x1b\\");
}

}  // namespace
}  // namespace screen

// The cells of one screen, and the operations that a terminal does on them.

#ifndef SERVER_SCREEN_EMULATOR_CELL_GRID_H_
#define SERVER_SCREEN_EMULATOR_CELL_GRID_H_

#include <vector>

#include "server/screen/emulator/cell.h"

namespace screen {

// The end is not included.
struct CellRect {
  int begin_row;
  int end_row;
  int begin_column;
  int end_column;
};

// Not thread-safe. Ignores positions outside of the grid.
class CellGrid {
 public:
  CellGrid(int rows, int columns);

  int rows() const { return static_cast<int>(rows_.size()); }
  int columns() const { return columns_; }
  const CellRow& row(int row) const { return rows_[row]; }

  // Writes a character, whose second half takes the next cell if it is wide.
  // Halves of wide characters that it cuts are erased.
  void Put(int row, int column, const Cell& cell);

  // `background` is the style of the erased cells. If `selective` is true,
  // protected cells stay.
  void Erase(const CellRect& rect, const CellStyle& background, bool selective);

  // Moves the content up and left; negative: down and right. Erases the cells
  // that become free.
  void Scroll(const CellRect& rect, int up, int left,
              const CellStyle& background);

 private:
  CellRect Clip(CellRect rect) const;
  // Scrolls whole rows, without copying their cells.
  void ScrollRows(const CellRect& area, int up, const CellStyle& background);
  // Erases the wide characters that an edge of the area cut, before or after
  // its cells moved.
  void EraseCutCharacters(const CellRect& area, const CellStyle& background);
  void EraseCell(int row, int column, const CellStyle& background);

  int columns_;
  std::vector<CellRow> rows_;
};

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_CELL_GRID_H_

#include "server/screen/emulator/cell_grid.h"

#include <algorithm>
#include <cstdlib>

namespace screen {

CellGrid::CellGrid(int rows, int columns)
    : columns_(columns), rows_(rows, CellRow(columns)) {}

CellRect CellGrid::Clip(CellRect rect) const {
  rect.begin_row = std::clamp(rect.begin_row, 0, rows());
  rect.end_row = std::clamp(rect.end_row, rect.begin_row, rows());
  rect.begin_column = std::clamp(rect.begin_column, 0, columns_);
  rect.end_column = std::clamp(rect.end_column, rect.begin_column, columns_);
  return rect;
}

void CellGrid::EraseCell(int row, int column, const CellStyle& background) {
  CellRow& cells = rows_[row];
  if (cells[column].width == 0 && column > 0) {
    cells[column - 1].characters = {};
    cells[column - 1].width = 1;
  }
  if (cells[column].width == 2 && column + 1 < columns_) {
    cells[column + 1].width = 1;
  }
  cells[column] = Cell();
  cells[column].style = background;
}

void CellGrid::Put(int row, int column, const Cell& cell) {
  if (row < 0 || row >= rows() || column < 0 || column >= columns_) {
    return;
  }
  EraseCell(row, column, {});
  if (cell.width == 2 && column + 1 < columns_) {
    EraseCell(row, column + 1, cell.style);
    rows_[row][column + 1].width = 0;
  }
  rows_[row][column] = cell;
  if (column + 1 >= columns_) {
    rows_[row][column].width = 1;
  }
}

void CellGrid::Erase(const CellRect& rect, const CellStyle& background,
                     bool selective) {
  const CellRect area = Clip(rect);
  for (int row = area.begin_row; row < area.end_row; ++row) {
    for (int column = area.begin_column; column < area.end_column; ++column) {
      if (!selective || !rows_[row][column].is_protected) {
        EraseCell(row, column, background);
      }
    }
  }
}

void CellGrid::ScrollRows(const CellRect& area, int up,
                          const CellStyle& background) {
  const auto begin = rows_.begin() + area.begin_row;
  const auto end = rows_.begin() + area.end_row;
  CellRect freed = area;
  if (up >= 0) {
    std::rotate(begin, begin + up, end);
    freed.begin_row = area.end_row - up;
  } else {
    std::rotate(begin, end + up, end);
    freed.end_row = area.begin_row - up;
  }
  Erase(freed, background, /*selective=*/false);
}

void CellGrid::Scroll(const CellRect& rect, int up, int left,
                      const CellStyle& background) {
  const CellRect area = Clip(rect);
  const int height = area.end_row - area.begin_row;
  const int width = area.end_column - area.begin_column;
  if (std::abs(up) >= height || std::abs(left) >= width) {
    Erase(area, background, /*selective=*/false);
    return;
  }
  if (left == 0 && width == columns_) {
    ScrollRows(area, up, background);
    return;
  }
  const std::vector<CellRow> before(rows_.begin() + area.begin_row,
                                    rows_.begin() + area.end_row);
  Erase(area, background, /*selective=*/false);
  for (int row = std::max(0, -up); row < std::min(height, height - up); ++row) {
    std::copy_n(
        before[row + up].begin() + area.begin_column + std::max(0, left),
        width - std::abs(left),
        rows_[area.begin_row + row].begin() + area.begin_column +
            std::max(0, -left));
  }
  EraseCutCharacters(area, background);
}

void CellGrid::EraseCutCharacters(const CellRect& area,
                                  const CellStyle& background) {
  for (int row = area.begin_row; row < area.end_row; ++row) {
    for (int edge = area.begin_column; edge <= area.end_column; ++edge) {
      if (edge < columns_ && rows_[row][edge].width == 0 &&
          (edge == 0 || rows_[row][edge - 1].width != 2)) {
        rows_[row][edge].width = 1;
      }
      if (edge > 0 && rows_[row][edge - 1].width == 2 &&
          (edge >= columns_ || rows_[row][edge].width != 0)) {
        EraseCell(row, edge - 1, background);
      }
    }
  }
}

}  // namespace screen

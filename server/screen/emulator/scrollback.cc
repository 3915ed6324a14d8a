#include "server/screen/emulator/scrollback.h"

#include <cstddef>

namespace screen {

size_t WrittenLength(const CellRow& row) {
  size_t length = row.size();
  while (length > 0 && !row[length - 1].written() &&
         row[length - 1].width != 0) {
    --length;
  }
  return length;
}

size_t StyledLength(const CellRow& row) {
  const CellStyle plain;
  size_t length = row.size();
  const size_t written = WrittenLength(row);
  while (length > written && row[length - 1].style == plain) {
    --length;
  }
  return length;
}

void Scrollback::Add(const CellRow& row) {
  lines_.emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(
                                                     StyledLength(row)));
  cells_ += lines_.back().size();
  while (lines_.size() > kMaxLines || cells_ > kMaxCells) {
    cells_ -= lines_.front().size();
    lines_.pop_front();
  }
}

void Scrollback::Clear() {
  lines_.clear();
  cells_ = 0;
}

}  // namespace screen

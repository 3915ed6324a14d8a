// The lines that scrolled off the top of a screen.

#ifndef SERVER_SCREEN_EMULATOR_SCROLLBACK_H_
#define SERVER_SCREEN_EMULATOR_SCROLLBACK_H_

#include <cstddef>
#include <deque>

#include "server/screen/emulator/cell.h"

namespace screen {

// The lines above the screen. Bounded in size: the oldest lines go first. Not
// thread-safe.
class Scrollback {
 public:
  void Add(const CellRow& row);
  void Clear();

  const std::deque<CellRow>& lines() const { return lines_; }

  static constexpr size_t kMaxLines = 1000;
  // Only very wide terminals reach this number of cells.
  static constexpr size_t kMaxCells = 512 << 10;

 private:
  std::deque<CellRow> lines_;
  size_t cells_ = 0;
};

// The number of cells up to the last one that was written.
size_t WrittenLength(const CellRow& row);
// The number of cells up to the last one that was written or has a background.
size_t StyledLength(const CellRow& row);

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_SCROLLBACK_H_

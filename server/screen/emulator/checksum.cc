#include "server/screen/emulator/checksum.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace screen {

namespace {

using Numbers = std::array<int, 6>;

// 0 stands for what is missing or no number.
Numbers ParseNumbers(absl::string_view parameters) {
  Numbers numbers = {};
  size_t count = 0;
  for (const absl::string_view text : absl::StrSplit(parameters, ';')) {
    if (count == numbers.size()) {
      break;
    }
    int number = 0;
    if (absl::SimpleAtoi(text, &number)) {
      numbers[count] = std::max(number, 0);
    }
    ++count;
  }
  return numbers;
}

}  // namespace

std::string ChecksumAnswer(const CellGrid& grid, absl::string_view parameters) {
  const auto [id, page, top, left, bottom, right] = ParseNumbers(parameters);
  const int last_row =
      bottom == 0 ? grid.rows() : std::min(bottom, grid.rows());
  const int last_column =
      right == 0 ? grid.columns() : std::min(right, grid.columns());
  uint32_t sum = 0;
  for (int row = std::max(top, 1); row <= last_row; ++row) {
    for (int column = std::max(left, 1); column <= last_column; ++column) {
      const Cell& cell = grid.row(row - 1)[column - 1];
      if (cell.width == 0) {
        continue;
      }
      sum += cell.written() ? cell.characters[0] : uint32_t{' '};
    }
  }
  return absl::StrFormat("\x1bP%d!~%04X\x1b\\", id, (0x10000 - sum) & 0xffff);
}

}  // namespace screen

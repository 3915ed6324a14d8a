// One cell of a screen.

#ifndef SERVER_SCREEN_EMULATOR_CELL_H_
#define SERVER_SCREEN_EMULATOR_CELL_H_

#include <array>
#include <cstdint>
#include <vector>

namespace screen {

struct CellColor {
  enum class Kind : uint8_t { kDefault, kIndex, kRgb };
  Kind kind = Kind::kDefault;
  // The index, or 0xRRGGBB.
  uint32_t value = 0;

  bool operator==(const CellColor& other) const {
    return kind == other.kind && value == other.value;
  }
};

struct CellStyle {
  CellColor foreground;
  CellColor background;
  uint8_t underline = 0;  // as in corral.v1.Style.Underline
  bool bold = false;
  bool dim = false;
  bool italic = false;
  bool blink = false;
  bool inverse = false;
  bool hidden = false;
  bool strike = false;
  bool overline = false;

  bool operator==(const CellStyle& other) const {
    return foreground == other.foreground && background == other.background &&
           underline == other.underline && bold == other.bold &&
           dim == other.dim && italic == other.italic && blink == other.blink &&
           inverse == other.inverse && hidden == other.hidden &&
           strike == other.strike && overline == other.overline;
  }
};

struct Cell {
  // A character and the ones that combine with it; 0 after the last. None: the
  // cell was erased or never written, or is the second half of a wide one.
  std::array<uint32_t, 6> characters = {};
  // 1 or 2; 0: the second half of the wide character before it.
  uint8_t width = 1;
  // True for characters that selective erasure leaves alone (DECSCA).
  bool is_protected = false;
  CellStyle style;

  bool written() const { return characters[0] != 0; }
};

using CellRow = std::vector<Cell>;

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_CELL_H_

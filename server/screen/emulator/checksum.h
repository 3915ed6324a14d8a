// DECRQCRA: the checksum of a rectangle of the screen, by which test suites
// read it (https://vt100.net/docs/vt510-rm/DECRQCRA.html).

#ifndef SERVER_SCREEN_EMULATOR_CHECKSUM_H_
#define SERVER_SCREEN_EMULATOR_CHECKSUM_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/screen/emulator/cell_grid.h"

namespace screen {

// Returns the answer (DECCKSR) to `parameters`: id, page, top, left, bottom,
// right; what is missing means the whole screen. The checksum is that of a
// VT420, the negated sum of the characters, where an empty cell is a space; as
// in esctest, attributes do not count.
std::string ChecksumAnswer(const CellGrid& grid, absl::string_view parameters);

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_CHECKSUM_H_

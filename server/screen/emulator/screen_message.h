// Describes what a terminal shows, in the messages of the API.

#ifndef SERVER_SCREEN_EMULATOR_SCREEN_MESSAGE_H_
#define SERVER_SCREEN_EMULATOR_SCREEN_MESSAGE_H_

#include <cstddef>

#include "corral/v1/screen.pb.h"
#include "server/screen/emulator/terminal.h"

namespace screen {

// The screen without begin_offset, with at most `scrollback_lines` lines of
// scrollback, and with the runs of each line if `styles` is set.
corral::v1::Screen Describe(const Terminal& terminal, size_t scrollback_lines,
                            bool styles);

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_SCREEN_MESSAGE_H_

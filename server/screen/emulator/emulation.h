// The life of an emulator process: carries out the requests of frames.h.

#ifndef SERVER_SCREEN_EMULATOR_EMULATION_H_
#define SERVER_SCREEN_EMULATOR_EMULATION_H_

namespace screen {

// Serves requests that arrive on `socket` until its other end is closed or
// sends something that is no request. Blocks. Answers are limited by the
// reader: a reader that does not read stops the emulation.
void Emulate(int socket);

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_EMULATION_H_

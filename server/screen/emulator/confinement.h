// Confines the emulator process to what it needs.

#ifndef SERVER_SCREEN_EMULATOR_CONFINEMENT_H_
#define SERVER_SCREEN_EMULATOR_CONFINEMENT_H_

namespace screen {

// Limits memory, files and processes, and loads a system call filter: reading
// and writing open descriptors and memory without PROT_EXEC are allowed, any
// other call kills the process. False: the kernel refused; errno says why.
bool Confine();

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_CONFINEMENT_H_

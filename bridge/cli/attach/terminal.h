// The terminal and the standard input of this process.

#ifndef BRIDGE_CLI_ATTACH_TERMINAL_H_
#define BRIDGE_CLI_ATTACH_TERMINAL_H_

#include <termios.h>

#include <optional>

#include "corral/v1/execution.pb.h"

namespace bridge {

// Returns true if standard input and standard output are terminals.
bool IsInteractive();

// Returns true if standard input is open for reading and is not /dev/null.
bool HasInput();

// The size of the terminal on standard output, else on standard input; 24 x 80
// if neither is a terminal.
corral::v1::TerminalSize GetTerminalSize();

// Makes the terminal on standard input, if there is one, pass on every byte as
// it is typed: no echo, no lines, no signals. The destructor restores it.
class RawTerminal {
 public:
  RawTerminal();
  ~RawTerminal();

  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  std::optional<termios> saved_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_TERMINAL_H_

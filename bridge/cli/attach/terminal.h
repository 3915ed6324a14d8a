// The caller's own terminal and standard input.

#ifndef BRIDGE_CLI_ATTACH_TERMINAL_H_
#define BRIDGE_CLI_ATTACH_TERMINAL_H_

#include <termios.h>

#include <optional>

#include "corral/v1/execution.pb.h"

namespace bridge {

// Standard input and standard output are terminals.
bool IsInteractive();

// There is something to read on standard input: it is open for reading and is
// not /dev/null.
bool HasInput();

// Of the terminal on standard output, else on input; 24 x 80 of none.
corral::v1::TerminalSize GetTerminalSize();

// Standard input, if it is a terminal, passes on every byte as it is typed:
// no echo, no lines, no signals. Restored by the destructor.
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

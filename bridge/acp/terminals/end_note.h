// Explains an end that Corral caused, beyond the exit status.

#ifndef BRIDGE_ACP_TERMINALS_END_NOTE_H_
#define BRIDGE_ACP_TERMINALS_END_NOTE_H_

#include <string>

#include "corral/v1/execution.pb.h"

namespace bridge {

struct EndNote {
  // The last line of the output, with its newline: "corral: ended by its
  // timeout of 30s\n". Empty if the command ended by itself, or by a signal
  // that a client sent.
  std::string line;
  // The name of the cause, like "WALL_TIMEOUT"; empty if `line` is.
  std::string cause;
};

// `execution` must have ended.
EndNote MakeEndNote(const corral::v1::Execution& execution);

// The same for a command that the gate refused.
EndNote RefusalNote(const std::string& reason);

// Says why it is not known how a command ended that is LOST.
std::string LossText(const corral::v1::Execution& lost);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_END_NOTE_H_

#ifndef BRIDGE_ACP_TERMINALS_EXIT_STATUS_H_
#define BRIDGE_ACP_TERMINALS_EXIT_STATUS_H_

#include <optional>
#include <string>

#include "corral/v1/execution.pb.h"

namespace bridge {

// How a command ended, in the protocol's terms: a code, or the name of a signal
// ("SIGKILL"), or neither if the end is not known.
struct ExitStatus {
  std::optional<int> code;
  std::optional<std::string> signal;
  // Why Corral ended the command, for `_meta`; see end_note.h. Empty if it did
  // not.
  std::string cause = {};
};

// The exit code of a command that a signal ended.
enum class SignalCodes {
  kNone,     // no code, as the protocol says
  kAsShell,  // 128 + n, for agents that read a missing code as success
};

// `execution` must be EXITED or LOST.
ExitStatus ToExitStatus(const corral::v1::Execution& execution,
                        SignalCodes codes = SignalCodes::kNone);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_EXIT_STATUS_H_

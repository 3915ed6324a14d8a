// How a command ended: an exit status for a shell, and an explanation where the
// status alone is not enough.

#ifndef BRIDGE_CLI_REPORT_EXIT_REPORT_H_
#define BRIDGE_CLI_REPORT_EXIT_REPORT_H_

#include <string>

#include "corral/v1/execution.pb.h"

namespace bridge {

// Corral itself failed.
inline constexpr int kCorralFailed = 125;
// Wrong usage of the command line.
inline constexpr int kUsageError = 2;
// The status of a program in a pipeline whose output nobody reads: 128 +
// SIGPIPE.
inline constexpr int kBrokenPipe = 141;

// The command's code; 128+n for signal n; 127 if there is no such program, 126
// if it could not be executed; 125 if Corral failed, or if the end is not
// known. `execution` must have ended.
int ExitCode(const corral::v1::Execution& execution);

// Returns one line without a newline, or an empty string if the exit status
// says it all.
std::string ExplainEnd(const corral::v1::Execution& execution);

// Returns a word for a table: "running", "exited 0", "SIGKILL (timeout)",
// "failed: ENOENT", "lost".
std::string StateText(const corral::v1::Execution& execution);

}  // namespace bridge

#endif  // BRIDGE_CLI_REPORT_EXIT_REPORT_H_

// The names of signals and errno values.

#ifndef BRIDGE_CLI_REPORT_SIGNAL_NAME_H_
#define BRIDGE_CLI_REPORT_SIGNAL_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Parses "TERM", "SIGTERM", "term", "RTMIN+1" or "15". The error
// (InvalidArgument) says what is allowed.
absl::StatusOr<int> ParseSignal(absl::string_view text);

// "SIGTERM"; "signal 40" for a signal without a name.
std::string SignalName(int number);

// "ENOENT"; "errno 999" for a value without a name.
std::string ErrnoName(int value);

// "No such file or directory (ENOENT)".
std::string ErrnoText(int value);

}  // namespace bridge

#endif  // BRIDGE_CLI_REPORT_SIGNAL_NAME_H_

// The names of signals and errno values.

#ifndef BRIDGE_OPTIONS_SIGNAL_NAME_H_
#define BRIDGE_OPTIONS_SIGNAL_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Parses "TERM", "SIGTERM", "term", "RTMIN+1" or "15". The error
// (InvalidArgument) says what is allowed.
absl::StatusOr<int> ParseSignal(absl::string_view text);

// "SIGTERM" for 15, "SIGRTMIN+1" for 35, "SIG99" for a number without a name.
std::string SignalName(int number);

// "ENOENT"; "errno 999" for a value without a name.
std::string ErrnoName(int value);

// "No such file or directory (ENOENT)".
std::string ErrnoText(int value);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_SIGNAL_NAME_H_

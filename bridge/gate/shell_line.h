// Finds what a shell line may execute, without being a shell.

#ifndef BRIDGE_GATE_SHELL_LINE_H_
#define BRIDGE_GATE_SHELL_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bridge {

// Returns true if the program is a shell by its name: sh, bash, dash, zsh or
// ksh.
bool IsShell(absl::string_view program);

// Returns LINE if argv is `SHELL -c LINE`, with any options before LINE.
std::optional<std::string> ShellLine(const std::vector<std::string>& argv);

// Returns the words of a line that every shell would only split at spaces;
// returns no value if the line needs more of a shell, or begins with an
// assignment.
std::optional<std::vector<std::string>> PlainWords(absl::string_view line);

// Returns the line without `cd DIRECTORY && ` at its front, which some agents
// put before every line. DIRECTORY may be in single quotes.
absl::string_view WithoutChangeTo(const std::string& directory,
                                  absl::string_view line);

// Returns every piece of a line between spaces, quotes and operators: more than
// the programs that it can execute, but not fewer, except for names that the
// shell puts together from parts.
std::vector<std::string> PossiblePrograms(absl::string_view line);

}  // namespace bridge

#endif  // BRIDGE_GATE_SHELL_LINE_H_

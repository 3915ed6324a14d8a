#ifndef BRIDGE_ACP_TERMINALS_SHELL_FALLBACK_H_
#define BRIDGE_ACP_TERMINALS_SHELL_FALLBACK_H_

#include <optional>
#include <string>
#include <vector>

namespace bridge {

// Agents name a shell by its path on their own host, like
// /opt/homebrew/bin/bash, which the server may not have. Returns what to
// execute instead of `argv`, whose program was not found: first the shell of
// that name in PATH, then /bin/sh if `argv` runs a line. Nothing if the program
// is no shell, or nothing is left to try.
std::optional<std::vector<std::string>> ShellFallback(
    const std::vector<std::string>& argv);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_SHELL_FALLBACK_H_

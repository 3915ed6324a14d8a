#ifndef BRIDGE_ACP_TERMINALS_COMMAND_LINE_H_
#define BRIDGE_ACP_TERMINALS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bridge {

// Returns what to execute for a terminal: the program and its arguments if
// there are any. Many agents put a whole shell line into `command` and give no
// arguments, so that line is run by /bin/sh -c; so is the line after cmd.exe. A
// single plain word is executed directly, so that a missing program is reported
// as such.
std::vector<std::string> ToArgv(const std::string& command,
                                const std::vector<std::string>& arguments);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_COMMAND_LINE_H_

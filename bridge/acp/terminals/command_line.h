#ifndef BRIDGE_ACP_TERMINALS_COMMAND_LINE_H_
#define BRIDGE_ACP_TERMINALS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bridge {

// What to execute for a terminal. With arguments: the program and these.
// Without: many agents put a whole shell line into `command`, so it is run by
// /bin/sh -c, unless it is a single plain word, which is executed so that a
// missing program is told from one that failed.
std::vector<std::string> ToArgv(const std::string& command,
                                const std::vector<std::string>& arguments);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_COMMAND_LINE_H_

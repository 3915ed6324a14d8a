// The program corral: runs commands in sandboxes. corral --help lists the
// commands.

#ifndef BRIDGE_CLI_COMMAND_LINE_H_
#define BRIDGE_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "bridge/client/timing.h"

namespace bridge {

// Runs the command that `words`, without the program's name, describe. Prints
// an error. Returns the exit status. To be called once, from main().
int RunCommandLine(const std::vector<std::string>& words,
                   const client::Timing& timing);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMAND_LINE_H_

// Commands that the editor or the agent starts, for programs of Corral.

#ifndef BRIDGE_ACP_SIBLING_COMMAND_H_
#define BRIDGE_ACP_SIBLING_COMMAND_H_

#include <string>
#include <vector>

#include "bridge/client/connection.h"

namespace bridge {

// Returns the absolute path of the program that stands next to this one, and
// the options with which it finds the same server, in any directory and with
// any environment. Empty if there is no such program.
std::vector<std::string> SiblingCommand(const std::string& program,
                                        const client::ConnectOptions& server);

}  // namespace bridge

#endif  // BRIDGE_ACP_SIBLING_COMMAND_H_

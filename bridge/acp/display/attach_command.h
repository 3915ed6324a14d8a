#ifndef BRIDGE_ACP_DISPLAY_ATTACH_COMMAND_H_
#define BRIDGE_ACP_DISPLAY_ATTACH_COMMAND_H_

#include <string>
#include <vector>

#include "bridge/client/connection.h"

namespace bridge {

// The command that shows an execution's output in a terminal of the client,
// without the execution's name: the `corral` that stands next to this program,
// which connects as this program does. Empty if there is none.
std::vector<std::string> AttachCommand(const client::ConnectOptions& server);

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_ATTACH_COMMAND_H_

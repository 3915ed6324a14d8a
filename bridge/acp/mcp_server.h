// Offers corral-mcp to the agent, with the sandbox of a session.

#ifndef BRIDGE_ACP_MCP_SERVER_H_
#define BRIDGE_ACP_MCP_SERVER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bridge {

// Adds an MCP server named "corral" to the `mcpServers` of a request that opens
// a session. `line` is the whole line. Every other byte stays the same. Returns
// the line unchanged if it has such a server, or its `mcpServers` is no list.
//
// `command` is the program and its arguments, to which `--sandbox SANDBOX_ID`
// is added.
// https://agentclientprotocol.com/protocol/v1/session-setup#mcp-servers
std::string AddMcpServer(absl::string_view line,
                         const std::vector<std::string>& command,
                         const std::string& sandbox_id);

}  // namespace bridge

#endif  // BRIDGE_ACP_MCP_SERVER_H_

// The command line of corral-mcp.

#ifndef BRIDGE_MCP_OPTIONS_H_
#define BRIDGE_MCP_OPTIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/http/http_address.h"
#include "bridge/mcp/terminal/terminals.h"

namespace bridge {

struct McpOptions {
  // The text of the help if it was asked for, else empty.
  std::string help;
  TerminalsOptions terminals;
  // The rules about commands. Null only together with `help`.
  std::shared_ptr<ToolGate> gate;
  // Serve HTTP there instead of standard input and output.
  std::optional<HttpAddress> http;
  // The token that HTTP clients must show. Empty: none; then `http` is a
  // loopback address.
  std::string token;
};

// `words` are the command line without the program's name. Reads the files of
// the token and of the rules, and opens the audit log. Fails with
// InvalidArgument if an option is unknown or has a wrong value.
absl::StatusOr<McpOptions> ParseMcpOptions(
    const std::vector<std::string>& words);

}  // namespace bridge

#endif  // BRIDGE_MCP_OPTIONS_H_

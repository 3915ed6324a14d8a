// A tool call that waits for a program.

#ifndef BRIDGE_MCP_TOOLS_WAITING_H_
#define BRIDGE_MCP_TOOLS_WAITING_H_

#include <functional>
#include <string>

#include "bridge/mcp/tools/tool_result.h"

namespace bridge {

// Runs on a thread of its own, and returns when the wait is over. Calls
// `is_cancelled` several times a second: true means that the client does not
// want the result any more.
using Waiting =
    std::function<ToolResult(const std::function<bool()>& is_cancelled)>;

// The outcome of a tool call: its result, or a wait for it.
struct ToolOutcome {
  ToolResult result;
  // Empty: `result` is there.
  Waiting wait;
  // The name of the execution that it waits for.
  std::string execution = {};
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_WAITING_H_

// The names, descriptions and schemas of the tools.

#ifndef BRIDGE_MCP_TOOLS_TOOL_LIST_H_
#define BRIDGE_MCP_TOOLS_TOOL_LIST_H_

#include "bridge/jsonrpc/json.h"

namespace bridge {

// The array "tools" of tools/list.
const OrderedJson& ToolList();

// The text "instructions" of initialize.
const char* Instructions();

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_TOOL_LIST_H_

// Builds and sends the replies to a client's requests.

#ifndef BRIDGE_MCP_PROTOCOL_REPLIES_H_
#define BRIDGE_MCP_PROTOCOL_REPLIES_H_

#include <memory>
#include <string>

#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/protocol/era.h"
#include "bridge/mcp/protocol/reply_channel.h"
#include "bridge/mcp/protocol/waits.h"
#include "bridge/mcp/tools/tool_result.h"

namespace bridge {

// Name and version of this program.
OrderedJson ServerInfo();

// `id` is the id as written. `type` is that of the result, for the stateless
// era.
void Reply(const std::string& id, const RequestMeta& meta,
           ReplyChannel* channel, OrderedJson result,
           const char* type = "complete");

// A CallToolResult.
OrderedJson ToJson(const ToolResult& result);

// Returns callbacks that report progress, and end the wait when nobody wants
// its result any more. `done` is not set.
Waits::Callbacks CallbacksOf(const std::shared_ptr<ReplyChannel>& channel,
                             const OrderedJson& progress_token);

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_REPLIES_H_

// The prompts that the server offers.

#ifndef BRIDGE_MCP_PROTOCOL_PROMPTS_H_
#define BRIDGE_MCP_PROTOCOL_PROMPTS_H_

#include "bridge/jsonrpc/json.h"

namespace bridge {

// The array "prompts" of prompts/list.
OrderedJson PromptList();

// The result of prompts/get; null if there is no such prompt.
OrderedJson GetPrompt(const OrderedJson& params);

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_PROMPTS_H_

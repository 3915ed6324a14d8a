// Builds the lines of JSON-RPC 2.0 requests and notifications. Each ends with a
// newline.

#ifndef BRIDGE_JSONRPC_REQUEST_H_
#define BRIDGE_JSONRPC_REQUEST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {

std::string RequestLine(const std::string& id, const std::string& method,
                        const Json& params);
std::string NotificationLine(const std::string& method, const Json& params);

// `text` as a JSON string, with its quotes.
std::string Quote(absl::string_view text);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_REQUEST_H_

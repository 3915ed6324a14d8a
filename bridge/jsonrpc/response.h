// Builds the lines that answer a JSON-RPC 2.0 request. Each ends with a
// newline.

#ifndef BRIDGE_JSONRPC_RESPONSE_H_
#define BRIDGE_JSONRPC_RESPONSE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {

// The codes of JSON-RPC, and those of the Agent Client Protocol (-32800,
// -32002).
enum class ErrorCode {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternal = -32603,
  kRequestCancelled = -32800,
  kResourceNotFound = -32002,
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  // Not sent if null.
  Json data;
};

// `id` is the id of the request as it was written, of any JSON type. The answer
// has the same bytes.
std::string ResultLine(absl::string_view id, const Json& result);
std::string OrderedResultLine(absl::string_view id, const OrderedJson& result);
std::string ErrorLine(absl::string_view id, const Error& error);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_RESPONSE_H_

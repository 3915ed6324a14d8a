// The two ways in which clients speak the Model Context Protocol.

#ifndef BRIDGE_MCP_PROTOCOL_ERA_H_
#define BRIDGE_MCP_PROTOCOL_ERA_H_

#include <optional>
#include <string>
#include <vector>

#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/response.h"

namespace bridge {

enum class Era {
  // 2024-11-05 to 2025-11-25: `initialize` begins a session.
  kSession,
  // 2026-07-28: every request names in its _meta the revision that it uses.
  kStateless,
};

inline constexpr char kStatelessRevision[] = "2026-07-28";

// The _meta of a request: what it states about itself and its client.
struct RequestMeta {
  Era era = Era::kSession;
  // The revision that it names, known or not. Empty: none.
  std::string revision;
  // True if the client can show a form to its user. Stateless requests only: in
  // the session era, `initialize` states it.
  bool can_ask = false;
  // Sent with notifications of progress. Null if no progress is wanted.
  OrderedJson progress_token;
};

// Reads params._meta. Returns an error if the request names an unknown
// revision, or lacks what the stateless revision requires.
std::optional<Error> ReadMeta(const OrderedJson& params, RequestMeta* meta);

// Returns true if these capabilities of a client include forms for its user.
bool CanAsk(const OrderedJson& capabilities);

// Returns true if clients of this revision begin sessions.
bool IsSessionRevision(const std::string& revision);

// The revision that `initialize` agrees on: the client's, or the newest one
// with sessions.
std::string NegotiateRevision(const OrderedJson& params);

// The error codes that MCP adds.
inline constexpr int kUnsupportedRevision = -32022;

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_ERA_H_

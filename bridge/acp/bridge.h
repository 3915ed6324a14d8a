#ifndef BRIDGE_ACP_BRIDGE_H_
#define BRIDGE_ACP_BRIDGE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/sessions.h"
#include "bridge/acp/sessions/workplaces.h"
#include "bridge/acp/terminals/command_starter.h"
#include "bridge/acp/terminals/terminals.h"
#include "bridge/client/connection.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// A longer line is refused, as the protocol's own libraries do.
constexpr size_t kMaxLineBytes = 32 << 20;

struct BridgeOptions {
  client::ConnectOptions server;
  WorkplaceOptions workplace;
  absl::Duration command_timeout = absl::InfiniteDuration();
};

// What the bridge does with each line between an ACP client and an agent: it
// edits the client's `initialize`, answers the agent's terminal/* requests, and
// passes on everything else as it is. It makes no requests of its own to either
// side, so ids need no translation. For the loop's thread.
class Bridge {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  // `to_client` and `to_agent` take whole lines, with their newlines if they
  // have one.
  Bridge(PollLoop* loop, BridgeOptions options, Send to_client, Send to_agent);

  void OnClientLine(std::string line);
  void OnAgentLine(std::string line);

  // A line above kMaxLineBytes was dropped: who sent it is told.
  void OnLongClientLine();
  void OnLongAgentLine();

  // Deletes all sandboxes. Done when idle().
  void Close();
  bool idle() const { return calls_.idle(); }

 private:
  // Whether the line was dealt with here and must not be passed on.
  bool TakeAgentMessage(const Message& message, const std::string& line);
  void OnAgentResponse(const Message& response);
  void OnTerminalRequest(const Message& request, const std::string& line);
  void CloseSession(const std::string& session_id);

  Send to_client_;
  Send to_agent_;
  ServerCalls calls_;
  Sessions sessions_;
  Workplaces workplaces_;
  CommandStarter starter_;
  Terminals terminals_;
  // Canonical id of the `initialize` that the agent has not answered yet.
  std::optional<std::string> initialize_id_;
  // The agent speaks a version of the protocol that has terminals.
  bool has_terminals_ = true;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_BRIDGE_H_

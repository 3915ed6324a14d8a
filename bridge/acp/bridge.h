#ifndef BRIDGE_ACP_BRIDGE_H_
#define BRIDGE_ACP_BRIDGE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/sessions.h"
#include "bridge/acp/sessions/workplaces.h"
#include "bridge/acp/terminals/command_starter.h"
#include "bridge/acp/terminals/terminals.h"
#include "bridge/client/connection.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// Longer lines are refused, as by the protocol's own libraries.
constexpr size_t kMaxLineBytes = 32 << 20;

struct BridgeOptions {
  client::ConnectOptions server;
  WorkplaceOptions workplace;
  absl::Duration command_timeout = absl::InfiniteDuration();
};

// Handles each line between an ACP client and an agent: edits the client's
// `initialize`, answers the agent's terminal/* requests, refuses batches and
// broken objects, and passes on everything else byte for byte. Makes no
// requests of its own to either side, so ids need no translation. For the
// loop's thread.
class Bridge {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  // `to_client` and `to_agent` get whole lines, with a newline unless the line
  // was passed on without one.
  Bridge(PollLoop* loop, BridgeOptions options, Send to_client, Send to_agent);

  void OnClientLine(std::string line);
  void OnAgentLine(std::string line);

  // Call when a line above kMaxLineBytes was dropped; the sender gets an error.
  void OnLongClientLine();
  void OnLongAgentLine();

  // Deletes all sandboxes; done when idle().
  void Close();
  bool idle() const { return calls_.idle(); }

 private:
  // Returns whether the line was handled here and must not be passed on.
  bool HandleAgentMessage(const Message& message, const std::string& line);
  void OnAgentResponse(const Message& response);
  void OnTerminalRequest(const Message& request, const std::string& line);
  void CloseSession(const std::string& session_id);

  Send to_client_;
  Send to_agent_;
  ServerCalls calls_;
  Deletions deletions_;
  Sessions sessions_;
  Workplaces workplaces_;
  CommandStarter starter_;
  Terminals terminals_;
  // Canonical id of the `initialize` that the agent has not answered yet.
  std::optional<std::string> initialize_id_;
  // False once the agent has insisted on a version of the protocol that has no
  // terminals: then everything is passed on.
  bool has_terminals_ = true;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_BRIDGE_H_

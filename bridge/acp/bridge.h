#ifndef BRIDGE_ACP_BRIDGE_H_
#define BRIDGE_ACP_BRIDGE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bridge/acp/display/display.h"
#include "bridge/acp/gate/gate.h"
#include "bridge/acp/hosts/hosts.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/requests/own_requests.h"
#include "bridge/acp/sessions/sessions.h"
#include "bridge/acp/sessions/turns.h"
#include "bridge/acp/sessions/workplaces.h"
#include "bridge/acp/terminals/command_starter.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/acp/terminals/terminals.h"
#include "bridge/client/connection.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// Longer lines are refused, as by the protocol's own libraries.
constexpr size_t kMaxLineBytes = 32 << 20;

// The time at which a session's sandbox is made: with its first command; or
// when the session opens, so that a failure shows early.
enum class Preparation { kWithFirstCommand, kWithSession };

struct BridgeOptions {
  client::ConnectOptions server = {};
  WorkplaceOptions workplace = {};
  CommandLimits limits = {};
  GateRules gate = {};
  AuditLog audit = {};
  // True: the user is asked about names that sandboxes refuse.
  bool ask_hosts = false;
  DisplayOptions display = {};
  SignalCodes signal_codes = SignalCodes::kNone;
  Preparation preparation = Preparation::kWithFirstCommand;
  // How long a terminal that has ended is kept for an agent that does not ask
  // about it.
  absl::Duration terminal_idle_limit = absl::Hours(1);
  // corral-mcp and its arguments, which is added to the MCP servers of each
  // session. Not added if this is empty.
  std::vector<std::string> mcp_server = {};
  // How long an agent may take, after session/cancel, to answer its prompt.
  absl::Duration cancel_grace = absl::Seconds(5);
};

// Handles each line between an ACP client and an agent: edits the client's
// `initialize`, adds an MCP server to its sessions if wanted, answers the
// agent's terminal/* requests, shows terminals in tool calls in a form that the
// client supports, refuses batches and broken objects, and passes on everything
// else byte for byte. Sends requests of its own about mirrors, commands and
// hosts to the client. Used on the loop's thread only.
class Bridge {  // NOLINT(clang-analyzer-optin.performance.Padding)
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  // `to_client` and `to_agent` get whole lines, with a newline unless the line
  // was passed on without one. While `client_has_room` returns false, output is
  // not shown.
  Bridge(
      PollLoop* loop, BridgeOptions options, Send to_client, Send to_agent,
      absl::AnyInvocable<bool()> client_has_room = [] { return true; });

  void OnClientLine(std::string line);
  void OnAgentLine(std::string line);

  // Call when a line above kMaxLineBytes was dropped; the sender gets an error.
  void OnLongClientLine();
  void OnLongAgentLine();

  // Deletes all sandboxes, but not that of the agent; done when idle().
  void Close();
  // The same, with that of the agent. Call when the agent has ended.
  void OnAgentEnd();
  bool idle() const { return calls_.idle() && deletions_.idle(); }
  // Returns true while the server has not reported how a command ended. Without
  // a server this may stay so.
  bool IsAwaitingEnds() const { return terminals_.IsAwaitingEnds(); }

  // Records in the audit log which commands have not ended. Call last.
  void RecordUnfinished() { terminals_.RecordUnfinished(); }

 private:
  // Return true if the line was handled here and must not be passed on.
  bool HandleAgentMessage(const Message& message, const std::string& line);
  bool HandleAgentNotification(const Message& message, const std::string& line);

  // Returns the line that the agent gets.
  std::string OnClientRequest(const Message& request, std::string line);
  void OnAgentResponse(const Message& response);
  // The same, for sessions that can use corral-mcp.
  std::string OfferMcp(const Message& request, const std::string& line);
  // Lets the agent end its commands itself for a while.
  void OnCancelledSession(const std::string& session_id);
  void PrepareOpenedSessions();
  HostCalls CallsOfHosts();
  // The open session in which the agent works; empty if there is none, or if
  // nothing is asked.
  std::string CurrentSession() const;
  void OnTerminalRequest(const Message& request, const std::string& line);
  void CloseSession(const std::string& session_id);

  PollLoop* const loop_;
  const Preparation preparation_;
  const absl::Duration cancel_grace_;
  const std::vector<std::string> mcp_server_;
  Send to_client_;
  Send to_agent_;
  AuditLog audit_;
  ServerCalls calls_;
  Deletions deletions_;
  Sessions sessions_;
  Turns turns_;
  Workplaces workplaces_;
  OwnRequests requests_;
  Gate gate_;
  // Absent: nothing is asked.
  std::optional<Hosts> hosts_;
  Display display_;
  CommandStarter starter_;
  Terminals terminals_;
  // Timers hold a weak_ptr to it.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  // The canonical id of the `initialize` that the agent has not answered yet.
  std::optional<std::string> initialize_id_;
  // False once the agent has insisted on a version of the protocol that has no
  // terminals: then everything is passed on.
  bool has_terminals_ = true;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_BRIDGE_H_

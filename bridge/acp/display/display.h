#ifndef BRIDGE_ACP_DISPLAY_DISPLAY_H_
#define BRIDGE_ACP_DISPLAY_DISPLAY_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/display/display_route.h"
#include "bridge/acp/display/mirrors.h"
#include "bridge/acp/display/shown_terminal.h"
#include "bridge/acp/display/tool_calls.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/requests/own_requests.h"
#include "bridge/acp/terminals/terminal_observer.h"

namespace bridge {

struct DisplayOptions {
  DisplayChoice choice = DisplayChoice::kAuto;
  // The command that shows an execution's output in a terminal of the client;
  // the execution's name is appended. Empty: there is no such command.
  std::vector<std::string> attach = {};
};

// Shows the output of the agent's terminals in the client while the commands
// run. The agent embeds a terminal in a tool call by an id that the client does
// not know. The display replaces the id by an item that the client can show
// (see display_route.h), and updates this item while output arrives. A terminal
// that the agent does not embed is attached to the session's running tool call
// of kind "execute", if there is exactly one.
//
// Used on the loop's thread only.
class Display : public TerminalObserver {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;
  using HasRoom = absl::AnyInvocable<bool()>;
  using Stop = absl::AnyInvocable<void(const std::string& id)>;

  // All pointers must outlive this object. `to_client` sends one line to the
  // client. While `has_room` returns false, output waits, and only messages
  // that must not be lost are sent. `stop` ends the command of a terminal whose
  // mirror the user has stopped.
  Display(PollLoop* loop, OwnRequests* requests, DisplayOptions options,
          Send to_client, HasRoom has_room, Stop stop);

  // `params` of the client's initialize: what it can show.
  void OnInitialize(absl::string_view params);

  // The agent has answered a prompt of the session: the turn is over.
  void OnTurnEnd(const std::string& session_id);

  // A session/update of the agent. Returns false if the caller must pass `line`
  // on as it is; otherwise the display has sent other lines in its place.
  bool OnUpdate(absl::string_view line, absl::string_view params);
  // Merges the tool call of a session/request_permission: it has the members of
  // a tool_call_update.
  void OnPermissionRequest(absl::string_view params);

  void CloseSession(const std::string& session_id);

  void OnOpened(const OpenedTerminal& terminal) override;
  void OnOutput(const std::string& id, absl::string_view text) override;
  void OnEnded(const std::string& id, const ExitStatus& status) override;
  void OnReleased(const std::string& id) override;
  void BeforeDeletion(const std::string& id, PollLoop::Action done) override;

 private:
  using Shown = std::shared_ptr<ShownTerminal>;

  Shown Find(const std::string& id) const;
  // Finds the terminals of `ids` that belong to the session.
  std::vector<Shown> FindAll(const std::string& session_id,
                             const std::vector<std::string>& ids) const;

  // Moves the terminals to a tool call, and removes all others from it.
  void Attach(const std::vector<Shown>& terminals,
              const std::string& session_id, const std::string& call_id);
  void AttachIfUnambiguous(const Shown& terminal);
  void OpenMirror(const Shown& terminal);

  // Return the JSON that the client gets in place of a terminal, or in place of
  // the whole content of a tool call.
  std::string ItemFor(const std::string& session_id, const std::string& id);
  std::string Render(const std::string& session_id, absl::string_view content);

  // Announces the terminals that the client does not know. `send` gets the
  // object of each update. Returns false if there was none.
  bool Announce(const std::vector<Shown>& terminals, const ToolCall& call,
                absl::AnyInvocable<void(const std::string&)> send);
  void SendContent(const std::string& session_id, const std::string& call_id);
  // Sends a tool_call_update with these members.
  void SendMembers(const std::string& session_id, const std::string& call_id,
                   absl::string_view members);

  // Sends new output to the client now.
  void Flush(ShownTerminal& terminal);
  // Sends new output now, or a little later if some was sent just before.
  void FlushSoon(const Shown& terminal);
  // Sends all output, and the end if there is one.
  void CatchUp(const Shown& terminal);
  void SendEnd(ShownTerminal& terminal);

  PollLoop* const loop_;
  const DisplayOptions options_;
  Send to_client_;
  HasRoom has_room_;
  Mirrors mirrors_;
  ClientFeatures features_;
  DisplayRoute route_ = DisplayRoute::kText;
  ToolCalls calls_;
  std::map<std::string, Shown> terminals_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_DISPLAY_H_

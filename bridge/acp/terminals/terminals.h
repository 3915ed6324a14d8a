#ifndef BRIDGE_ACP_TERMINALS_TERMINALS_H_
#define BRIDGE_ACP_TERMINALS_TERMINALS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/command_stream.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/output_follower.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/terminals/command_starter.h"
#include "bridge/acp/terminals/creations.h"
#include "bridge/acp/terminals/end_note.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/acp/terminals/kills.h"
#include "bridge/acp/terminals/terminal.h"
#include "bridge/acp/terminals/terminal_observer.h"
#include "bridge/acp/terminals/terminal_params.h"
#include "bridge/acp/terminals/terminal_phase.h"
#include "bridge/gate/audit_log.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/jsonrpc/response.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// Answers the terminal/* requests of the agent. No request waits for another
// one. The execution of every terminal is deleted once the terminal is released
// and its command has ended; that end answers pending waits. Reports what
// happens to the observer, and records in the audit log how each command ended.
// Used on the loop's thread only.
// https://agentclientprotocol.com/protocol/v1/terminals
class Terminals {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  // All pointers must outlive this object. `send` gets each answer as a line.
  // A terminal whose command has ended, and that the agent has not referred to
  // for `idle_limit`, is released: some agents never do it.
  Terminals(PollLoop* loop, ServerCalls* calls, Deletions* deletions,
            CommandStarter* starter, TerminalObserver* observer,
            AuditLog* audit, SignalCodes signal_codes,
            absl::Duration idle_limit, Send send);
  ~Terminals();

  Terminals(const Terminals&) = delete;
  Terminals& operator=(const Terminals&) = delete;

  // The method of `request` begins with "terminal/".
  void OnRequest(const Message& request);

  // The agent cancels the request of this id. Returns true if that request was
  // pending here; it is then answered. Cancelling a wait leaves the command
  // alone; cancelling a creation deletes what it started.
  bool OnCancel(absl::string_view request_id);

  // Ends the command of a terminal, or of all terminals of a session, as
  // terminal/kill does. The terminals stay.
  void Stop(const std::string& terminal_id);
  void StopSession(const std::string& session_id);

  // Returns true while the end of a command is not known.
  bool IsAwaitingEnds() const;
  // Writes to the audit log which commands have not ended, as far as is known.
  void RecordUnfinished();

  // Forgets the terminals of the session. The caller deletes the session's
  // sandbox, which ends their commands.
  void CloseSession(const std::string& session_id);

 private:
  struct Entry;

  void Create(absl::string_view id, absl::string_view params);
  // A command that the gate refused has ended already.
  void Open(const Creations::Creation& creation,
            const CommandStarter::Started& started);
  // Receives the output from the call that started the command.
  void Receive(const std::shared_ptr<Entry>& entry,
               std::shared_ptr<CommandStream> stream);
  // Receives the output from where the terminal's output ends.
  void Follow(const std::shared_ptr<Entry>& entry);
  void FollowLater(const std::shared_ptr<Entry>& entry);

  // Handles the methods that refer to a terminal: all but terminal/create.
  void OnReference(const Message& request);
  void OnUnknownTerminal(const Message& request,
                         const TerminalReference& reference);
  void WaitForExit(absl::string_view id, Terminal& terminal);
  // Answers when the server has delivered the signal, or does not answer.
  void Kill(absl::string_view id, const Entry& entry);

  // Makes every change of an entry's phase and does what the new phase needs.
  void Apply(const std::shared_ptr<Entry>& entry, TerminalEvent event);

  void OnOutput(const std::shared_ptr<Entry>& entry,
                const corral::v1::OutputEvent& event);
  void OnLost(const std::shared_ptr<Entry>& entry, const absl::Status& status);
  void OnEnd(const std::shared_ptr<Entry>& entry,
             const std::vector<std::string>& waits);

  // Looks after `rest` whether the agent still uses an ended terminal.
  void ReleaseWhenIdle(const std::shared_ptr<Entry>& entry,
                       absl::Duration rest);

  void AddNote(Entry& entry, const EndNote& note);
  // Writes to the audit log. `ended`: null if the end is not known.
  void Record(const Entry& entry, const corral::v1::Execution* ended);

  void Reply(absl::string_view id, const Json& result);
  void Refuse(absl::string_view id, const Error& error);

  PollLoop* const loop_;
  ServerCalls* const calls_;
  Deletions* const deletions_;
  TerminalObserver* const observer_;
  AuditLog* const audit_;
  const SignalCodes signal_codes_;
  Send send_;

  const absl::Duration idle_limit_;
  Kills kills_;
  Creations creations_;
  // The key is the terminal id. An entry stays until its phase is final.
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  // Sessions of terminals that were released: releasing one again is no error.
  std::map<std::string, std::string> released_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TERMINALS_H_

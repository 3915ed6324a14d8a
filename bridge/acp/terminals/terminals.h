#ifndef BRIDGE_ACP_TERMINALS_TERMINALS_H_
#define BRIDGE_ACP_TERMINALS_TERMINALS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/remote/output_follower.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/terminals/command_starter.h"
#include "bridge/acp/terminals/terminal.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/jsonrpc/response.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// Answers the terminal/* requests of the agent. No request waits for another
// one. For the loop's thread.
// https://agentclientprotocol.com/protocol/v1/terminals
class Terminals {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  // All must outlive it. `send` gets each answer, a line.
  Terminals(PollLoop* loop, ServerCalls* calls, CommandStarter* starter,
            Send send);
  ~Terminals();

  Terminals(const Terminals&) = delete;
  Terminals& operator=(const Terminals&) = delete;

  // A request whose method begins with "terminal/".
  void OnRequest(const Message& request);

  // The agent takes the request with this id back. False: that request is not
  // pending here. True: it was, and is answered. A command ends only if the
  // agent never got its terminal.
  bool OnCancel(absl::string_view request_id);

  // The terminals of the session are released; who kills what runs in them is
  // for the caller to say.
  void CloseSession(const std::string& session_id);

 private:
  struct Creation;
  struct Entry;

  void Create(absl::string_view id, absl::string_view params);
  void OnStarted(const std::shared_ptr<Creation>& creation,
                 const CommandStarter::Started& started);
  void Open(const Creation& creation, const std::string& execution_name);

  // What all other methods have in common: find the terminal.
  void OnReference(const Message& request);
  void Output(absl::string_view id, const Terminal& terminal);
  void WaitForExit(absl::string_view id, Terminal& terminal);
  void Kill(const Entry& entry);
  void Release(const std::shared_ptr<Entry>& entry);

  void OnEvent(const std::shared_ptr<Entry>& entry,
               const corral::v1::OutputEvent& event);
  void OnEnd(const std::shared_ptr<Entry>& entry,
             const std::vector<std::string>& waits);
  void Retire(const Entry& entry);

  void AnswerWait(absl::string_view id, const Terminal& terminal);
  void Reply(absl::string_view id, const Json& result);
  void Refuse(absl::string_view id, const Error& error);

  PollLoop* const loop_;
  ServerCalls* const calls_;
  CommandStarter* const starter_;
  Send send_;

  // By canonical request id.
  std::map<std::string, std::shared_ptr<Creation>> creations_;
  // By terminal id. A released terminal stays until the end of its command.
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  // Terminals that are gone, with their sessions: to release one again is no
  // error.
  std::map<std::string, std::string> released_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TERMINALS_H_

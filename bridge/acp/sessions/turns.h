#ifndef BRIDGE_ACP_SESSIONS_TURNS_H_
#define BRIDGE_ACP_SESSIONS_TURNS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bridge/jsonrpc/message.h"

namespace bridge {

// Knows which prompts the agent is working on. Not thread-safe.
// https://agentclientprotocol.com/protocol/v1/prompt-turn
class Turns {
 public:
  void OnClientRequest(const Message& request);

  // Returns the session whose turn this response ended.
  std::optional<std::string> OnAgentResponse(const Message& response);

  // The ids of the session's prompts that the agent has not answered.
  std::vector<std::string> Open(const std::string& session_id) const;

  // Whether one of these prompts is still not answered.
  bool IsAnyOpen(const std::vector<std::string>& prompts) const;

 private:
  // The session of each prompt, by canonical request id.
  std::map<std::string, std::string> prompts_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_TURNS_H_

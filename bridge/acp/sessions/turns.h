#ifndef BRIDGE_ACP_SESSIONS_TURNS_H_
#define BRIDGE_ACP_SESSIONS_TURNS_H_

#include <cstdint>
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

  // The session in which the agent works: of the prompts that it has not
  // answered, that of the latest; if there are none, that of the last prompt.
  // Empty before the first prompt.
  std::string Current() const;

  // Returns true if one of these prompts is still not answered.
  bool IsAnyOpen(const std::vector<std::string>& prompts) const;

 private:
  struct Prompt {
    uint64_t number;  // larger for a later one
    std::string session_id;
  };
  // The prompts by canonical request id.
  std::map<std::string, Prompt> prompts_;
  uint64_t next_number_ = 1;
  std::string last_session_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_TURNS_H_

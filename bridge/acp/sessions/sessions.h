#ifndef BRIDGE_ACP_SESSIONS_SESSIONS_H_
#define BRIDGE_ACP_SESSIONS_SESSIONS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// Knows the ACP sessions of a connection and their working directories from the
// client's requests and the agent's responses that pass by. Not thread-safe.
// https://agentclientprotocol.com/protocol/v1/session-setup
class Sessions {
 public:
  // Call with each request of the client. A session that is loaded or resumed
  // exists from its request on, since the agent may use it before it responds.
  // Returns the id of a session that existed with another working directory,
  // whose terminals and sandbox must be closed.
  std::optional<std::string> OnRequest(const Message& request);

  // Call with each response of the agent. Returns the id of a session that this
  // response ended.
  std::optional<std::string> OnResponse(const Message& response);

  // Returns the sessions that responses have opened since the last call.
  std::vector<std::string> TakeOpened() { return std::exchange(opened_, {}); }

  void Open(const std::string& session_id, const std::string& cwd) {
    cwds_[session_id] = cwd;
  }

  // Returns the session's working directory as the client gave it, empty if it
  // gave none; nothing if no request opened the session, or it was closed.
  std::optional<std::string> Cwd(const std::string& session_id) const;

 private:
  // A request that the agent has not answered yet.
  struct Pending {
    enum class Kind {
      kOpen,   // success opens the session that the response names, in `cwd`
      kLoad,   // failure ends session_id, which this request opened
      kClose,  // success ends session_id
    };
    Kind kind;
    std::string cwd;         // kOpen
    std::string session_id;  // kLoad, kClose
  };

  std::optional<std::string> Load(const std::string& request_id,
                                  const std::string& session_id,
                                  const std::string& cwd);

  std::map<std::string, std::string> cwds_;
  std::vector<std::string> opened_;
  // The key is the canonical request id.
  std::map<std::string, Pending> pending_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_SESSIONS_H_

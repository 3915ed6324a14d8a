#ifndef BRIDGE_ACP_SESSIONS_SESSIONS_H_
#define BRIDGE_ACP_SESSIONS_SESSIONS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// The ACP sessions of a connection and their working directories, learned from
// the requests of the client and the answers of the agent as they pass. Not
// thread-safe. https://agentclientprotocol.com/protocol/v1/session-setup
class Sessions {
 public:
  // A request of the client. A session that is loaded or resumed exists from
  // its request on, since the agent may use it before it answers. Returns the
  // id of a session that existed with another working directory: what belongs
  // to it is to be closed.
  std::optional<std::string> OnRequest(const Message& request);

  // A response of the agent. Returns the id of a session that ended with it.
  std::optional<std::string> OnResponse(const Message& response);

  // Makes a session known that the agent uses although no request opened it.
  void Open(const std::string& session_id, const std::string& cwd) {
    cwds_[session_id] = cwd;
  }

  // As the client gave it; nothing for a session that is not known.
  std::optional<std::string> Cwd(const std::string& session_id) const;

 private:
  std::optional<std::string> Reopen(const std::string& session_id,
                                    const std::string& cwd);

  // What to do when the agent answers a request with success.
  struct Pending {
    enum class Kind { kOpen, kClose };
    Kind kind;
    std::string cwd;         // kOpen
    std::string session_id;  // kClose
  };

  std::map<std::string, std::string> cwds_;
  // By canonical request id.
  std::map<std::string, Pending> pending_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_SESSIONS_H_

#ifndef BRIDGE_ACP_SESSIONS_SESSIONS_H_
#define BRIDGE_ACP_SESSIONS_SESSIONS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// Knows the ACP sessions of a connection and their directories from the
// client's requests and the agent's responses that pass by. Not thread-safe.
// https://agentclientprotocol.com/protocol/v1/session-setup
class Sessions {
 public:
  // Directories are as the client gave them.
  struct Session {
    std::string cwd;  // empty if the client gave none
    std::vector<std::string> additional_directories = {};
    // The id that its sandbox must have; empty: any.
    std::string sandbox_id = {};
  };
  using MakeId = absl::AnyInvocable<std::string()>;

  // `make_sandbox_id` is called for each session that a request opens.
  explicit Sessions(MakeId make_sandbox_id = [] { return ""; })
      : make_sandbox_id_(std::move(make_sandbox_id)) {}

  // Call with each request of the client. A session that is loaded or resumed
  // exists from its request on, since the agent may use it before it responds.
  // Returns the id of a session that existed with other directories, whose
  // terminals and sandbox must be closed.
  std::optional<std::string> OnRequest(const Message& request);

  // The sandbox_id of the session that this request opens, which OnRequest()
  // has seen. Empty if it opens none, or any id will do.
  std::string SandboxIdFor(const Message& request) const;

  // Call with each response of the agent. Returns the id of a session that this
  // response ended.
  std::optional<std::string> OnResponse(const Message& response);

  // Returns the sessions that responses have opened since the last call.
  std::vector<std::string> TakeOpened() { return std::exchange(opened_, {}); }

  void Open(const std::string& session_id, Session session) {
    sessions_[session_id] = std::move(session);
  }

  // Returns null if no request opened the session, or it was closed.
  const Session* Find(const std::string& session_id) const;

 private:
  // A request that the agent has not answered yet.
  struct Pending {
    enum class Kind {
      kOpen,   // success opens `session` with the id in the response
      kLoad,   // failure ends session_id, which this request opened
      kClose,  // success ends session_id
    };
    Kind kind;
    Session session;         // kOpen
    std::string session_id;  // kLoad, kClose
  };

  std::optional<std::string> Load(const std::string& request_id,
                                  const std::string& session_id,
                                  Session session);

  MakeId make_sandbox_id_;
  std::map<std::string, Session> sessions_;
  std::vector<std::string> opened_;
  // The key is the canonical request id.
  std::map<std::string, Pending> pending_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_SESSIONS_H_

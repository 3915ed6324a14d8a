#ifndef BRIDGE_ACP_HOSTS_HOSTS_H_
#define BRIDGE_ACP_HOSTS_HOSTS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "bridge/acp/hosts/host_calls.h"
#include "bridge/acp/hosts/host_questions.h"
#include "bridge/acp/hosts/name_follower.h"
#include "bridge/acp/requests/own_requests.h"
#include "bridge/gate/audit_log.h"

namespace bridge {

// Asks the user about the names that sandboxes refuse. Used on the loop's
// thread only.
class Hosts {
 public:
  // Returns the open session in which the agent works, empty if there is none.
  using CurrentSession = absl::AnyInvocable<std::string()>;

  // All pointers must outlive this object, and every answer to `calls`.
  Hosts(HostCalls calls, OwnRequests* requests, AuditLog* audit,
        HostQuestions::Send to_client, CurrentSession current_session);

  // From now on, names that this sandbox refuses are asked about in the
  // session; a sandbox that the session had before is not followed any more. An
  // empty session is the current one each time.
  void Follow(const std::string& session_id, const std::string& sandbox);

  // Drops the session's questions: the user has cancelled the turn.
  void CancelTurn(const std::string& session_id);

  void CloseSession(const std::string& session_id);

  // Follows no sandbox any more.
  void Stop() { followers_.clear(); }

 private:
  HostCalls calls_;
  CurrentSession current_session_;
  HostQuestions questions_;
  std::map<std::string, std::unique_ptr<NameFollower>> followers_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_HOSTS_HOSTS_H_

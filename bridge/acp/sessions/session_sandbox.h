#ifndef BRIDGE_ACP_SESSIONS_SESSION_SANDBOX_H_
#define BRIDGE_ACP_SESSIONS_SESSION_SANDBOX_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "bridge/acp/remote/server_calls.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// The sandbox of one ACP session. It is created when it is first needed, and
// again if it turns out that it can't be used any more. The server deletes it
// when it has been idle for 10 min; this keeps it in use for as long as it
// lives, so that only the sandbox of a bridge that was killed goes that way.
// For the loop's thread; held by shared_ptr.
class SessionSandbox : public std::enable_shared_from_this<SessionSandbox> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  SessionSandbox(ServerCalls* calls, corral::v1::Sandbox wanted);

  // Runs `done` with the sandbox's name, or with the reason why there is none,
  // which does not keep the next call from trying again.
  void WhenReady(Done done);

  // The sandbox of that name takes no executions. What it holds can still be
  // read.
  void GiveUp(const std::string& name);

  // Deletes every sandbox that was created here, also one that is just being
  // created. From now on WhenReady() fails.
  void Delete();

 private:
  void OnCreated(absl::StatusOr<corral::v1::Sandbox> created);
  // From now on, for as long as it is the one that takes executions.
  void KeepInUse(const std::string& name);

  ServerCalls* const calls_;
  corral::v1::Sandbox wanted_;
  bool creating_ = false;
  bool deleted_ = false;
  std::string name_;  // empty: none takes executions
  std::vector<std::string> given_up_;
  std::vector<Done> waiting_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_SESSION_SANDBOX_H_

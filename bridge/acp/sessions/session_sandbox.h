#ifndef BRIDGE_ACP_SESSIONS_SESSION_SANDBOX_H_
#define BRIDGE_ACP_SESSIONS_SESSION_SANDBOX_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/server_calls.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// A sandbox of one ACP session. Creates it when it is first needed, and a new
// one when it can no longer be used. Holds a lease of 2 min on it: the server
// deletes the sandbox of a bridge that was killed, with all that runs in it.
// Used on the loop's thread only; held by shared_ptr.
class SessionSandbox : public std::enable_shared_from_this<SessionSandbox> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;
  using OnMade = absl::AnyInvocable<void(const std::string& name)>;

  // `id` is the last part of the sandbox's name, and of the name of a sandbox
  // that replaces it, so that others can know it. If it is empty, the server
  // chooses. The lease is renewed after each `renewal_interval`.
  SessionSandbox(ServerCalls* calls, Deletions* deletions,
                 corral::v1::Sandbox wanted, std::string id = "",
                 absl::Duration renewal_interval = absl::Seconds(40));

  // Gives a sandbox the lease that this class renews.
  static void SetLease(corral::v1::Sandbox& sandbox);

  // Uses a sandbox that exists, in place of creating one. Call before anything
  // else.
  void Adopt(const std::string& name);

  // Runs `on_made` with the name of each sandbox that is created here from now
  // on. Call at most once.
  void Announce(OnMade on_made) { on_made_ = std::move(on_made); }

  const corral::v1::Sandbox& wanted() const { return wanted_; }

  // A line for each further workspace that the server refused. The sandbox is
  // made without it.
  const std::vector<std::string>& missing() const { return missing_; }

  // Runs `done` with the sandbox's name, or with the reason why there is none.
  // After a failure the next call tries again.
  void WhenReady(Done done);

  // Call when the sandbox of that name takes no executions any more: the next
  // WhenReady() creates another one. The output of its executions can still be
  // read.
  void GiveUp(const std::string& name);

  // Makes a sandbox, if there is none or the server says that it has died.
  void Revive();

  // Deletes every sandbox that was created here, also the one being created.
  // From then on WhenReady() fails with Cancelled.
  void Delete();

 private:
  enum class State {
    kNone,      // no sandbox takes executions
    kCreating,  // the server was asked for one
    kReady,     // name_ takes executions
    kDeleted,   // for good; a sandbox that is still created is deleted
  };

  // Makes every change of state. Leaving kReady gives the sandbox up.
  void Enter(State state, const std::string& name = "");
  void Create();
  void Request();
  // Removes the further workspace that the error names from wanted_. Returns
  // true if there was one.
  bool DropWorkspace(const absl::Status& refused);
  void OnCreated(const absl::StatusOr<corral::v1::Sandbox>& created);
  // Calls the server from time to time while this sandbox is ready.
  void RenewLease(const std::string& name);

  ServerCalls* const calls_;
  Deletions* const deletions_;
  corral::v1::Sandbox wanted_;
  const std::string id_;
  const absl::Duration renewal_interval_;
  std::vector<std::string> missing_;
  OnMade on_made_ = [](const std::string&) {};
  State state_ = State::kNone;
  std::string name_;  // empty unless kReady
  std::vector<std::string> given_up_;
  std::vector<Done> waiting_;  // empty unless kCreating
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_SESSION_SANDBOX_H_

// Makes sandboxes, takes over those of an earlier server, and deletes them:
// what crosses the registry, the disk and the factory.
//
// Thread-safe. Only Recover blocks; what else may block is done by the worker
// pool.

#ifndef SERVER_CORE_SANDBOXES_H_
#define SERVER_CORE_SANDBOXES_H_

#include <cstdint>
#include <future>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "server/api/conversion.h"
#include "server/core/lanes.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/core/workspace_policy.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

class Sandboxes {
 public:
  using Created =
      absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Sandbox>>)>;

  // All must outlive this object.
  struct Environment {
    sandbox::SupervisorLauncher* factory;
    const StateDirectory* state;
    StorageHealth* storage;
    Activity* activity;
    TimerQueue* timers;
    Lanes* lanes;
    const WorkspacePolicy* workspaces;
  };

  // A sandbox to be made, validated before. Empty `id`: one is made up.
  struct NewSandbox {
    corral::v1::Sandbox wanted;
    std::string id;
    sandbox::wire::RequestIdentity request;
    bool ephemeral = false;
  };

  struct Options {
    SandboxDefaults defaults;
    uint32_t max_sandboxes;
    uint32_t max_executions_per_sandbox;
    // Of all sandboxes together; 0: no limit.
    uint64_t max_output_bytes = 0;
    // Ended executions kept in all sandboxes together.
    uint32_t max_ended_executions = 100'000;
  };

  Sandboxes(const Environment& environment, const Options& options);

  Registry& registry() { return registry_; }

  // Makes a sandbox, or finds the one that the same request made. `created`
  // gets it when it is not CREATING any more, or what kept it from being made,
  // which leaves nothing: SANDBOX_EXISTS, REQUEST_MISMATCH, TOO_MANY_SANDBOXES,
  // TOO_MUCH_OUTPUT, ISOLATION_UNAVAILABLE, INVALID_FIELD (the workspace),
  // STORAGE_FAILED, SANDBOX_NOT_READY (UNAVAILABLE: its processes were killed
  // meanwhile, or could not be started now) or SERVER_FAULT.
  void Create(const NewSandbox& wanted, Created created);

  // Deletes all sandboxes; Activity tells when they are gone.
  void DeleteAll(sandbox::wire::ExitRecord::Cause cause);

  // Takes over the sandboxes that the disk knows. Returns when their executions
  // are known, or after 0.3 s. Before anything else. An error: it cannot be
  // known which there are, and none was touched.
  absl::Status Recover();

 private:
  Sandbox::Environment SandboxEnvironment();
  std::shared_ptr<Sandbox> MakeSandbox(const NewSandbox& sandbox,
                                       const std::string& id);
  void Make(const std::shared_ptr<Sandbox>& sandbox);
  // Ends a creation before anything of the sandbox is on the disk.
  void GiveUp(const std::shared_ptr<Sandbox>& sandbox, const absl::Status& why);
  // Tries again after `retry` if it fails.
  void Remove(const std::shared_ptr<Sandbox>& sandbox, absl::Duration retry);
  // The future: see TakeOver. Tries again after `retry` if the description
  // cannot be read.
  std::future<void> RecoverOne(const std::string& name, absl::Duration retry);
  // Ready when its executions are known.
  std::future<void> TakeOver(const std::shared_ptr<Sandbox>& sandbox);
  // Reads what the disk knows of it. An error: to be called again.
  absl::Status Load(const std::shared_ptr<Sandbox>& sandbox);
  // Connects to the supervisor, or knows that it is dead. An error: neither.
  absl::Status Adopt(const std::shared_ptr<Sandbox>& sandbox);
  void AdoptLater(const std::shared_ptr<Sandbox>& sandbox, bool loaded);
  // Of a name that is no sandbox's, or of one that was never made.
  std::future<void> RemoveLeftover(const std::string& name);

  const Environment environment_;
  const Options options_;
  Registry registry_;
};

}  // namespace server

#endif  // SERVER_CORE_SANDBOXES_H_

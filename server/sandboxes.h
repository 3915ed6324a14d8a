// Makes sandboxes, takes over those of an earlier server, and deletes them:
// what crosses the registry, the disk and the factory.
//
// Thread-safe. Only Recover blocks; what else may block is done by the worker
// pool.

#ifndef SERVER_SANDBOXES_H_
#define SERVER_SANDBOXES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/sandbox.h"
#include "server/activity.h"
#include "server/registry.h"
#include "server/session.h"
#include "server/state_directory.h"
#include "server/timer_queue.h"
#include "server/worker_pool.h"

namespace server {

class Sandboxes {
 public:
  using Created =
      absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Session>>)>;

  // All must outlive this object.
  struct Environment {
    sandbox::SandboxFactory* factory;
    const StateDirectory* state;
    Activity* activity;
    TimerQueue* timers;
    // For starting supervisors; and for the removal of directories, which may
    // take long.
    WorkerPool* creators;
    WorkerPool* removers;
  };

  struct Options {
    corral::v1::Limits default_limits;
    corral::v1::Lifetime default_lifetime;
    uint32_t max_sandboxes;
    uint32_t max_executions_per_sandbox;
    // Of the limits of all sandboxes together; 0: no limit.
    uint64_t max_output_bytes = 0;
  };

  Sandboxes(const Environment& environment, const Options& options);

  Registry& registry() { return registry_; }

  // Makes a sandbox, whose fields were validated before. Empty `id`: one is
  // made up. `created` gets it when it is READY, or SANDBOX_EXISTS,
  // TOO_MANY_SANDBOXES, ISOLATION_UNAVAILABLE, INVALID_FIELD (the workspace) or
  // SERVER_FAULT; never before Create has returned, unless it is one of the
  // first two.
  void Create(const corral::v1::Sandbox& wanted, const std::string& id,
              bool ephemeral, Created created);

  // Deletes all sandboxes; Activity tells when they are gone.
  void DeleteAll(sandbox::wire::ExitRecord::Cause cause);

  // Takes over the sandboxes that the disk knows. Returns when their executions
  // are known. Before anything else.
  void Recover();

 private:
  Session::Environment SessionEnvironment();
  void Make(const std::shared_ptr<Session>& session);
  void Remove(const std::shared_ptr<Session>& session);
  void RecoverOne(const std::string& id);

  const Environment environment_;
  const Options options_;
  Registry registry_;
};

}  // namespace server

#endif  // SERVER_SANDBOXES_H_

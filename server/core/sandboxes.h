// Makes sandboxes, takes over those of an earlier server, and removes their
// files: the work that needs the registry, the disk and the launcher together.
//
// Thread-safe. Only Recover() blocks; everything else that may block runs on
// the lanes.

#ifndef SERVER_CORE_SANDBOXES_H_
#define SERVER_CORE_SANDBOXES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "server/core/protections.h"
#include "server/core/registry.h"
#include "server/core/retention.h"
#include "server/core/sandbox.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/core/teardown_queue.h"
#include "server/core/workspace_checks.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
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
    WorkspaceChecks* workspaces;
    WorkspaceChecks* mounts;
    HeapTrim* heap;
  };

  // A sandbox to be made; it was validated before. The server chooses an id if
  // `id` is empty.
  struct NewSandbox {
    corral::v1::Sandbox wanted;
    std::string id;
    sandbox::wire::RequestIdentity request;
    bool ephemeral = false;
  };

  struct Options {
    SandboxDefaults defaults;
    uint32_t max_sandboxes;
    // The number of executions that may run in a sandbox at a time.
    uint32_t max_executions_per_sandbox;
    // The limits of all sandboxes together.
    Registry::Totals totals;
    Protections protections;
    // The ended executions that are kept in all sandboxes together.
    uint32_t max_ended_executions = 100'000;
    // The time after which the description of a new sandbox is synced: until
    // then its first command has run, most of the time. With 0, no timer is
    // used.
    absl::Duration sync_delay = absl::Milliseconds(20);
  };

  // The time for which Recover() waits for the descriptions of sandboxes, and
  // after that for records and supervisors.
  static constexpr std::chrono::milliseconds kDescriptionPatience{1000};
  static constexpr std::chrono::milliseconds kRecoveryPatience{300};

  Sandboxes(const Environment& environment, const Options& options);

  Registry& registry() { return registry_; }

  // Makes a sandbox, or finds the one that the same request made. `created`
  // gets it when it is not CREATING any more. Otherwise it gets the reason why
  // nothing was made: SANDBOX_EXISTS, REQUEST_MISMATCH, TOO_MANY_SANDBOXES,
  // TOO_MUCH_OUTPUT, TOO_MUCH_MEMORY, TOO_MANY_PIDS, ISOLATION_UNAVAILABLE,
  // INVALID_FIELD (the workspace, a protection, a service), STORAGE_FAILED,
  // SANDBOX_NOT_READY (UNAVAILABLE: its processes were killed meanwhile or
  // could not be started now, or the file system of the workspace does not
  // answer) or SERVER_FAULT.
  void Create(const NewSandbox& wanted, Created created);

  // Deletes all sandboxes, a few at a time: see teardown_queue.h. Activity
  // reports when they are gone.
  void DeleteAll(sandbox::wire::ExitRecord::Cause cause);

  // Removes the directories that were made ahead and not used. Does so on a
  // lane, so that a disk that hangs delays nobody.
  void RemoveBlankDirectories();

  // Returns how many sandboxes still have a process.
  size_t Living() const;

  // Takes over the sandboxes that are on the disk. To be called before anything
  // else. Waits until all descriptions are read, for at most
  // kDescriptionPatience; the other sandboxes get SANDBOX_NOT_READY until
  // theirs can be read. Then waits until executions are known, for at most
  // kRecoveryPatience. Calls to a sandbox whose executions are not known by
  // then wait, or get SANDBOX_NOT_READY. Returns an error if the sandboxes
  // cannot be listed; then none was touched.
  absl::Status Recover();

 private:
  // The delays between attempts to remove or to read a directory: the first
  // one, doubled up to the last one.
  static constexpr absl::Duration kFirstRetry = absl::Milliseconds(100);
  static constexpr absl::Duration kLastRetry = absl::Minutes(1);
  // The server's own name in StorageHealth.
  static constexpr char kServer[] = "corrald";

  Sandbox::Environment SandboxEnvironment();
  std::shared_ptr<Retention> MakeRetention();
  std::shared_ptr<Sandbox> MakeSandbox(const NewSandbox& sandbox,
                                       const std::string& id);
  // A directory of the host that a sandbox wants.
  struct Wish {
    // Decide whether the path may be lent.
    WorkspaceChecks* checks;
    std::string path;
    bool read_only;
    // The field of the request.
    std::string field;
  };
  std::vector<Wish> WishesOf(const sandbox::wire::SandboxSpec& spec) const;
  // Begins the checks of all directories; Make() follows on the lane of
  // launches.
  void BeginCreation(const std::shared_ptr<Sandbox>& sandbox);
  // Begins the check of the first of `wishes`; the others follow.
  void CheckWishes(const std::shared_ptr<Sandbox>& sandbox,
                   std::vector<Wish> wishes);
  void Make(const std::shared_ptr<Sandbox>& sandbox);
  // Makes the description survive a crash of the machine. After a failure it is
  // written again, until that succeeds or the sandbox is removed.
  void SyncSoon(const std::shared_ptr<Sandbox>& sandbox);
  void RecordAgain(const std::shared_ptr<Sandbox>& sandbox,
                   absl::Duration retry);
  void OnSynced(const std::shared_ptr<Sandbox>& sandbox,
                const absl::Status& synced, absl::Duration retry);
  // Ends a creation before anything of the sandbox is on the disk.
  void GiveUp(const std::shared_ptr<Sandbox>& sandbox, const absl::Status& why);
  // Removes the files of a sandbox that has no process. Retries a failed
  // removal after `retry`.
  void Remove(const std::shared_ptr<Sandbox>& sandbox, absl::Duration retry);

  // sandboxes_recovery.cc: what an earlier server left.

  // Takes over the sandbox in the directory `name`, whose id is reserved.
  // Returns null if there is no sandbox, or if its description cannot be read
  // now; that is retried after `retry`.
  std::shared_ptr<Sandbox> RecoverOne(const std::string& name,
                                      absl::Duration retry);
  // Ends the reservation of a name whose sandbox was never made, and removes
  // its directory.
  void RemoveUnmade(const std::string& name);
  void TakeOver(const std::shared_ptr<Sandbox>& sandbox);
  // Connects to the supervisor, or finds that it is dead. Retries while neither
  // is possible.
  void Adopt(const std::shared_ptr<Sandbox>& sandbox);
  // Removes a directory whose name is not the id of a sandbox, or whose sandbox
  // was never made.
  void RemoveLeftover(const std::string& name);

  const Environment environment_;
  const Options options_;
  const std::shared_ptr<Retention> all_ended_;
  const std::shared_ptr<TeardownQueue> teardowns_;
  Registry registry_;
};

}  // namespace server

#endif  // SERVER_CORE_SANDBOXES_H_

// Runs the checks of workspaces, each of which may hang with the file system
// that it looks at.
//
// Checks of one path run one after another, so a hung file system takes one
// thread. A check without a result gets an error after kPatience. While too
// many checks hang, new ones fail at once.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_WORKSPACE_CHECKS_H_
#define SERVER_CORE_WORKSPACE_CHECKS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/core/disk_reads.h"
#include "server/runtime/timer_queue.h"

namespace server {

class WorkspaceChecks {
 public:
  // See WorkspacePolicy::Check().
  using Check =
      std::function<absl::Status(const std::string& path, bool read_only)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // The time that a check may take.
  static constexpr absl::Duration kPatience = absl::Seconds(5);
  // The number of checks that may run or wait.
  static constexpr size_t kMaxChecks = 64;

  // `timers` and `lane` must outlive this object, and stop before it is
  // destroyed. `check` may block, on any thread of `lane`.
  WorkspaceChecks(Check check, TimerQueue* timers, DiskReads* lane)
      : check_(std::move(check)), timers_(timers), lane_(lane) {}

  // Calls `done` once, on any thread, with the result of the check; or with
  // SANDBOX_NOT_READY (UNAVAILABLE) if there is no result in time or too many
  // checks hang. `sandbox` is the name of the sandbox that wants the workspace.
  void Run(const std::string& sandbox, const std::string& path, bool read_only,
           Done done);

 private:
  const Check check_;
  TimerQueue* const timers_;
  DiskReads* const lane_;

  sandbox::Mutex mutex_;
  // Checks that run or wait, also those that were given up.
  size_t checks_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_WORKSPACE_CHECKS_H_

// Keeps paths of workspaces read-only while their sandbox runs: covers them
// again when a program of the host has replaced or removed one, which takes the
// mount from its place.
//
// A process beside the supervisor does it, since it needs rights that the
// supervisor gives up. It is in the sandbox's mount namespace and in none of
// its others, so nothing inside can reach it.
//
// Used on the thread of its loop only.

#ifndef SANDBOX_SUPERVISOR_PATH_PROTECTION_H_
#define SANDBOX_SUPERVISOR_PATH_PROTECTION_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/read_only_paths.h"
#include "sandbox/supervisor/side_process.h"

namespace sandbox {

class PathProtection {
 public:
  // Gets the reason why a path could not be covered again, and may delete the
  // object. Nothing is covered any more from then on.
  using OnLoss = std::function<void(const absl::Status& why)>;

  // Covers the paths in the mount namespace of `init`, before anything
  // untrusted runs there. Fails as ReadOnlyPaths::Cover() does, and with
  // Aborted if init was killed. `loop` must outlive the object. For a process
  // with one thread.
  static absl::StatusOr<std::unique_ptr<PathProtection>> Begin(
      EventLoop* loop, const Child& init, std::vector<ReadOnlyPaths> paths,
      OnLoss on_loss);

  // Removes the placeholders. Nothing may run in the sandbox any more.
  ~PathProtection();

 private:
  PathProtection(EventLoop* loop, SideProcess keeper, OnLoss on_loss);

  void OnReport();

  EventLoop* const loop_;
  const SideProcess keeper_;
  const OnLoss on_loss_;
  bool watching_ = true;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_PATH_PROTECTION_H_

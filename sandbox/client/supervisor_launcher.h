// Starts and finds the supervisors of sandboxes: the server's one seam to the
// kernel. local_supervisor_launcher.h is the real one,
// tests/fakes/fake_supervisor_launcher.h the one for tests.

#ifndef SANDBOX_CLIENT_SUPERVISOR_LAUNCHER_H_
#define SANDBOX_CLIENT_SUPERVISOR_LAUNCHER_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/client/supervisor_connection.h"

namespace sandbox {

// Makes sandboxes. The server's one seam to the kernel.
class SupervisorLauncher {
 public:
  // The sandbox, or what kept it from being made: WORKSPACE, ISOLATION,
  // STORAGE, SHORTAGE, SUPERVISOR_GONE or FAULT; see failure.h.
  using Created = absl::AnyInvocable<void(absl::Status)>;

  virtual ~SupervisorLauncher() = default;

  // Starts a supervisor for `spec`, whose directory exists and holds spec.pb.
  // `created` tells whether the sandbox is ready. The returned Sandbox takes
  // calls after that. `observer` must outlive it; after a failed creation
  // OnGone comes too, after `created`. Both may come before Create has
  // returned.
  virtual std::unique_ptr<SupervisorConnection> Create(
      const wire::SandboxSpec& spec, SupervisorObserver* observer,
      Created created) = 0;

  // Connects to the supervisor that serves spec.directory. OnSnapshot is the
  // first call. NotFound: no supervisor lives there.
  virtual absl::StatusOr<std::unique_ptr<SupervisorConnection>> Adopt(
      const wire::SandboxSpec& spec, SupervisorObserver* observer) = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_SUPERVISOR_LAUNCHER_H_

// Starts and finds the supervisors of sandboxes: the server's only way to the
// kernel. Implemented by LocalSupervisorLauncher and, for tests, by
// tests/fakes/fake_supervisor_launcher.h.

#ifndef SANDBOX_CLIENT_SUPERVISOR_LAUNCHER_H_
#define SANDBOX_CLIENT_SUPERVISOR_LAUNCHER_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/client/supervisor_connection.h"

namespace sandbox {

class SupervisorLauncher {
 public:
  // OK when the sandbox is ready. Failures: WORKSPACE, ISOLATION, STORAGE,
  // SHORTAGE, SUPERVISOR_GONE and FAULT; see failure.h.
  using Created = absl::AnyInvocable<void(absl::Status)>;

  virtual ~SupervisorLauncher() = default;

  // Starts a supervisor for `spec`, whose directory must exist and hold
  // spec.pb. The returned connection takes requests once `created` was called.
  // `observer` must outlive the connection. After a failed creation OnGone()
  // follows `created`. Both may be called before Create() has returned.
  virtual std::unique_ptr<SupervisorConnection> Create(
      const wire::SandboxSpec& spec, SupervisorObserver* observer,
      Created created) = 0;

  // Connects to the supervisor that serves spec.directory; OnSnapshot() is the
  // observer's first call. Fails with NotFound if no supervisor lives there.
  // After any other error one may live there.
  virtual absl::StatusOr<std::unique_ptr<SupervisorConnection>> Adopt(
      const wire::SandboxSpec& spec, SupervisorObserver* observer) = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_SUPERVISOR_LAUNCHER_H_

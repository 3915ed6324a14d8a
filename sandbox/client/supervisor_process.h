// The process of a supervisor, held by the server that started it.

#ifndef SANDBOX_CLIENT_SUPERVISOR_PROCESS_H_
#define SANDBOX_CLIENT_SUPERVISOR_PROCESS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct SupervisorProcess {
  // The supervisor ends when this is closed before it has made a sandbox.
  PacketSocket socket;
  // Becomes invalid when the process was reaped, on the event loop's thread.
  std::shared_ptr<UniqueFd> pidfd;
  // True once IsAlive() has read an answer: it is ready for its sandbox.
  bool answered = false;
};

// Returns the program of supervisors as a memfd, so that an upgrade that
// replaces files does not mix versions.
absl::StatusOr<UniqueFd> MakeSupervisorImage();

// Starts a supervisor, which prepares a sandbox with `profile`, and which the
// caller must reap. May be called from any thread; takes about a millisecond.
absl::StatusOr<SupervisorProcess> StartSupervisor(
    const UniqueFd& image,
    ::corral::supervisor::v1::SandboxSpec::Profile profile);

// Returns true if a supervisor still runs that got no request yet but one to
// complete its sandbox, which it has not refused. Reads its answer, if there is
// one. Otherwise closes its socket, with which a supervisor that refused ends.
bool IsAlive(SupervisorProcess& supervisor);

// Sends SIGKILL, unless the process was reaped. Called on the event loop's
// thread only.
void KillSupervisor(const UniqueFd& pidfd);

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_SUPERVISOR_PROCESS_H_

#include "sandbox/supervisor/confinement.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <cerrno>

#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/inside_sockets.h"
#include "sandbox/kernel/privileges.h"
#include "sandbox/seccomp/seccomp.h"

namespace sandbox {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Pipes and control groups belong to commands (CHOWN). The state directory may
// be below one of another user (DAC_READ_SEARCH). Commands are other users'
// processes (KILL). The pipes of all sandboxes together are more than a user
// may have (SYS_RESOURCE). The kernel's messages name processes that it killed
// (SYSLOG).
absl::Status KeepFewCapabilities(Listeners listeners) {
  switch (listeners) {
    case Listeners::kNone:
      return KeepAtMost({CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_KILL,
                         CAP_SYS_RESOURCE, CAP_SYSLOG});
    case Listeners::kOfWayOut:
      return KeepAtMost({CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_KILL,
                         CAP_NET_BIND_SERVICE, CAP_SYS_RESOURCE, CAP_SYSLOG});
  }
  return absl::InternalError("unknown listeners");
}

}  // namespace

absl::Status Confine(int init, Listeners listeners) {
  RETURN_IF_ERROR(EnterNetwork(init));
  if (kSanitized) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(KeepFewCapabilities(listeners));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return absl::ErrnoToStatus(errno, "no_new_privs");
  }
  const absl::Status loaded = seccomp::LoadSupervisorProfile();
  return absl::IsFailedPrecondition(loaded)
             ? WithFailure(wire::Reply::ISOLATION, loaded)
             : loaded;
}

}  // namespace sandbox

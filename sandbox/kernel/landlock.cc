#include "sandbox/kernel/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

// landlock_ruleset_attr of Linux 6.12; the headers of Debian 12 are older.
struct RulesetAttributes {
  // A domain that handles files would forbid every mount.
  uint64_t handled_access_fs = 0;
  uint64_t handled_access_net = 0;
  uint64_t scoped = 0;
};

constexpr uint64_t kScopeAbstractUnixSocket = 1 << 0;
constexpr uint64_t kScopeSignal = 1 << 1;

absl::Status NoRuleset(int error) {
  constexpr char kWhat[] = "landlock_create_ruleset";
  switch (error) {
    case E2BIG:  // the kernel does not know the last field
      return absl::UnimplementedError(
          "Landlock has no scopes for signals and abstract sockets before "
          "Linux 6.12");
    case EPERM:  // a filter of the host's container
    case ENOSYS:
    case EOPNOTSUPP:  // not among the security modules of the boot
      return absl::UnimplementedError(
          absl::ErrnoToStatus(error, kWhat).message());
    default:
      return absl::ErrnoToStatus(error, kWhat);
  }
}

}  // namespace

absl::Status EnterLandlockDomain() {
  RulesetAttributes attributes;
  attributes.scoped = kScopeAbstractUnixSocket | kScopeSignal;
  const UniqueFd ruleset(static_cast<int>(::syscall(
      SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!ruleset.valid()) {
    return NoRuleset(errno);
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return absl::ErrnoToStatus(errno, "landlock_restrict_self");
  }
  return absl::OkStatus();
}

}  // namespace sandbox

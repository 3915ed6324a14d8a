#include "sandbox/seccomp/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "sandbox/base/filter_error.h"
#include "sandbox/seccomp/profile_filter.inc"

namespace sandbox::seccomp {
namespace {

template <size_t kSize>
sock_fprog Program(const sock_filter (&steps)[kSize]) {
  return {kSize, const_cast<sock_filter*>(steps)};
}

sock_fprog FilterOf(Profile profile) {
  switch (profile) {
    case Profile::kDefault:
      return Program(kDefaultFilter);
    case Profile::kStrict:
      return Program(kStrictFilter);
    case Profile::kDebug:
      return Program(kDebugFilter);
    case Profile::kNested:
      return Program(kNestedFilter);
  }
  return Program(kStrictFilter);
}

}  // namespace

absl::Status LoadProfile(Profile profile) {
  sock_fprog filter = FilterOf(profile);
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) {
    return absl::OkStatus();
  }
  return FilterError(errno, "seccomp(SET_MODE_FILTER)");
}

}  // namespace sandbox::seccomp

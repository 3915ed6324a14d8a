#include "sandbox/seccomp/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

absl::StatusOr<UniqueFd> LoadProfile(Profile profile) {
  sock_fprog filter = FilterOf(profile);
  const auto load = [&filter](unsigned flags) {
    return static_cast<int>(
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter));
  };
  UniqueFd listener;
  bool loaded = false;
  if (HasListener(profile)) {
    listener.Reset(load(SECCOMP_FILTER_FLAG_NEW_LISTENER));
    loaded = listener.valid() || (errno == EBUSY && load(0) == 0);
  } else {
    loaded = load(0) == 0;
  }
  if (loaded) {
    return listener;
  }
  return FilterError(errno, "seccomp(SET_MODE_FILTER)");
}

absl::Status LoadSupervisorProfile() {
  sock_fprog filter = Program(kSupervisorFilter);
  const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                SECCOMP_FILTER_FLAG_TSYNC, &filter);
  if (result > 0) {
    return absl::InternalError(absl::StrCat("seccomp(SET_MODE_FILTER): thread ",
                                            result, " has another filter"));
  }
  return result == 0 ? absl::OkStatus()
                     : FilterError(errno, "seccomp(SET_MODE_FILTER)");
}

}  // namespace sandbox::seccomp

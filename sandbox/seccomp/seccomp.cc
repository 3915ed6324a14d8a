#include "sandbox/seccomp/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "sandbox/base/status_macros.h"
#include "sandbox/seccomp/allow_filter.inc"
#include "sandbox/seccomp/deny_filter.inc"

namespace sandbox::seccomp {
namespace {

absl::Status Load(const sock_filter* program, size_t size) {
  sock_fprog filter = {static_cast<unsigned short>(size),
                       const_cast<sock_filter*>(program)};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
    return absl::ErrnoToStatus(errno, "seccomp(SET_MODE_FILTER)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadProfile() {
  // The kernel runs every filter and uses the strictest result. Rules that
  // refuse some arguments of an allowed call need a filter of their own, since
  // libseccomp cannot express "not equal, masked".
  RETURN_IF_ERROR(Load(kDenyFilter, std::size(kDenyFilter)));
  return Load(kAllowFilter, std::size(kAllowFilter));
}

}  // namespace sandbox::seccomp

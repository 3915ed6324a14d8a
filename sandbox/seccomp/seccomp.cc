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

// ENOTSUPP of the kernel, which is in no header and which strerror(3) does not
// know. The kernel compiles every filter.
constexpr int kNoJitMemory = 524;

absl::Status Load(const sock_filter* program, size_t size) {
  sock_fprog filter = {static_cast<unsigned short>(size),
                       const_cast<sock_filter*>(program)};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
    if (errno == kNoJitMemory) {
      return absl::ResourceExhaustedError(
          "seccomp(SET_MODE_FILTER): errno 524: this host's memory for "
          "compiled filters is used up; raise net.core.bpf_jit_limit");
    }
    return absl::ErrnoToStatus(errno, "seccomp(SET_MODE_FILTER)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadProfile() {
  // The kernel runs every filter and uses the strictest result. Rules that
  // refuse some arguments of an allowed call need a filter of their own, since
  // libseccomp cannot express "not equal, masked". The filter that denies calls
  // comes first: of two errors, the kernel uses that of the later filter.
  RETURN_IF_ERROR(Load(kDenyFilter, std::size(kDenyFilter)));
  return Load(kAllowFilter, std::size(kAllowFilter));
}

}  // namespace sandbox::seccomp

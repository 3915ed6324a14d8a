#include "sandbox/supervisor/reap.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/base/log.h"

namespace sandbox {
namespace {

int WaitStatus(const siginfo_t& info) {
  switch (info.si_code) {
    case CLD_EXITED:
      return (info.si_status & 0xff) << 8;
    case CLD_DUMPED:
      return info.si_status | 0x80;
    default:
      return info.si_status;
  }
}

}  // namespace

std::optional<Reaped> Reap(int pidfd, int options) {
  siginfo_t info = {};
  Reaped reaped;
  long result;
  do {
    // The C library's waitid has no usage.
    result = ::syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | options,
                       &reaped.usage);
  } while (result != 0 && errno == EINTR);
  CHECK(result == 0) << "waitid: errno " << errno;
  if (info.si_pid == 0) {
    return std::nullopt;
  }
  reaped.pid = info.si_pid;
  reaped.wait_status = WaitStatus(info);
  return reaped;
}

}  // namespace sandbox

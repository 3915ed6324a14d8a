#include "sandbox/supervisor/reap.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/base/log.h"
#include "sandbox/base/small_file.h"

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

std::optional<Reaped> ReapWithin(int pidfd, absl::Duration limit) {
  pollfd ended = {pidfd, POLLIN, 0};
  (void)::poll(&ended, 1, static_cast<int>(absl::ToInt64Milliseconds(limit)));
  return Reap(pidfd, WNOHANG);
}

pid_t PidOf(int pidfd) {
  const absl::StatusOr<std::string> info =
      ReadSmallFile(absl::StrCat("/proc/self/fdinfo/", pidfd));
  pid_t pid = -1;
  if (info.ok()) {
    for (absl::string_view line : absl::StrSplit(*info, '\n')) {
      if (absl::ConsumePrefix(&line, "Pid:") && !absl::SimpleAtoi(line, &pid)) {
        pid = -1;
      }
    }
  }
  return pid;
}

}  // namespace sandbox

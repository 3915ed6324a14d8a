#include "sandbox/kernel/owner_map.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// It has the caller's memory, which it must not change: the caller runs beside
// it.
int Pause(void*) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    ::pause();
  }
}

absl::StatusOr<UniqueFd> MapAndOpen(pid_t child, uid_t owner, gid_t group,
                                    uint32_t id) {
  const std::string process = absl::StrCat("/proc/", child);
  RETURN_IF_ERROR(
      WriteSmallFile(process + "/uid_map", absl::StrCat(owner, " ", id, " 1")));
  RETURN_IF_ERROR(
      WriteSmallFile(process + "/gid_map", absl::StrCat(group, " ", id, " 1")));
  const std::string path = process + "/ns/user";
  UniqueFd name_space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!name_space.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  return name_space;
}

}  // namespace

absl::StatusOr<UniqueFd> OwnerMap(uid_t owner, gid_t group, uint32_t first_id,
                                  uint32_t inside) {
  // Only a process can make a user namespace; afterwards the descriptor keeps
  // it.
  alignas(16) char stack[4096];
  const pid_t child = ::clone(Pause, stack + sizeof(stack),
                              CLONE_VM | CLONE_NEWUSER | SIGCHLD, nullptr);
  if (child < 0) {
    return absl::ErrnoToStatus(
        errno, errno == ENOSPC ? "clone: a limit in /proc/sys/user/ is reached"
                               : "clone");
  }
  absl::StatusOr<UniqueFd> map =
      MapAndOpen(child, owner, group, first_id + inside);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return map;
}

}  // namespace sandbox

#include "sandbox/kernel/owner_map.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// A child with a copy of the memory would take longer than all else, but it is
// the only kind that ThreadSanitizer knows.
#ifdef __SANITIZE_THREAD__
constexpr int kMemory = 0;
#else
constexpr int kMemory = CLONE_VM;
#endif

// Must change nothing in memory, which is that of the caller, who runs
// meanwhile.
int Pause(void* caller) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != *static_cast<const pid_t*>(caller)) {
    ::_exit(1);  // the caller has ended, and no signal comes
  }
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
  pid_t caller = ::getpid();
  const pid_t child = ::clone(Pause, stack + sizeof(stack),
                              kMemory | CLONE_NEWUSER | SIGCHLD, &caller);
  if (child < 0) {
    return absl::ErrnoToStatus(
        errno, errno == ENOSPC ? "clone: a limit in /proc/sys/user/ is reached"
                               : "clone");
  }
  absl::StatusOr<UniqueFd> map =
      MapAndOpen(child, owner, group, first_id + inside);
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return map;
}

}  // namespace sandbox

#include "sandbox/egress/egress_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/string_view.h"
#include "sandbox/base/high_fd.h"
#include "sandbox/base/program_image.h"
#include "sandbox/base/reset_signals.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/egress_image.h"
#include "sandbox/kernel/privileges.h"

namespace egress {
namespace {

using sandbox::UniqueFd;

// The descriptors of the program.
constexpr int kSocket = 3;
constexpr int kImage = 4;

// Gives up all privileges. As the user that it is, the process may be unable to
// leave its groups, and gets no capabilities back by the execution because of
// no_new_privs. The caller need not have the right to limit them for good.
bool BecomeUser(uid_t id) {
  const bool keeps_groups = ::syscall(SYS_setgroups, 0, nullptr) != 0;
  if (id == ::geteuid()) {
    return sandbox::KeepAtMost({}).ok();
  }
  return !keeps_groups && ::syscall(SYS_setresgid, id, id, id) == 0 &&
         // Takes all capabilities, too.
         ::syscall(SYS_setresuid, id, id, id) == 0;
}

// Between fork and exec: raw system calls only.
[[noreturn]] void Become(uid_t id, int image, int socket) {
  sandbox::ResetSignals();
  const int null = ::open("/dev/null", O_RDWR);
  char name[] = "corral-egress";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  if (null >= 0 && ::dup2(null, 0) == 0 && ::dup2(null, 1) == 1 &&
      ::dup2(socket, kSocket) == kSocket && ::dup2(image, kImage) == kImage &&
      ::syscall(SYS_close_range, kImage + 1, ~0U, 0) == 0 &&
      ::fcntl(kImage, F_SETFD, FD_CLOEXEC) == 0 && BecomeUser(id) &&
      // Set after the change of user, which clears it; see prctl(2).
      ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    ::syscall(SYS_execveat, kImage, "", arguments, environment, AT_EMPTY_PATH);
  }
  ::_exit(1);
}

}  // namespace

void EgressProcess::End() {
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  siginfo_t info;
  // __WALL: a child that another process has started, and that has not executed
  // the program, sends no signal when it ends.
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | __WALL);
  *this = EgressProcess();
}

absl::StatusOr<EgressProcess> StartEgress(uid_t id, Parent parent) {
  ASSIGN_OR_RETURN(
      const UniqueFd low_image,
      sandbox::MakeProgramImage("corral-egress", sandbox::EgressImage()));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socket of corral-egress");
  }
  EgressProcess process;
  process.socket.Reset(ends[0]);
  const UniqueFd low_socket(ends[1]);
  const UniqueFd image = sandbox::DuplicateHigh(low_image.get());
  const UniqueFd socket = sandbox::DuplicateHigh(low_socket.get());
  if (!image.valid() || !socket.valid()) {
    return absl::ErrnoToStatus(errno, "descriptors of corral-egress");
  }
  int pidfd = -1;
  clone_args arguments = {};
  arguments.flags = CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  if (parent == Parent::kParentOfCaller) {
    arguments.flags |= CLONE_PARENT;
  } else {
    arguments.exit_signal = SIGCHLD;
  }
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (pid < 0) {
    return absl::ErrnoToStatus(errno, "start corral-egress");
  }
  if (pid == 0) {
    Become(id, image.get(), socket.get());
  }
  process.pid = static_cast<pid_t>(pid);
  process.pidfd.Reset(pidfd);
  return process;
}

}  // namespace egress

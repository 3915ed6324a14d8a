#include "sandbox/client/supervisor_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sandbox/base/program_image.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/supervisor_image.h"

namespace sandbox {
namespace {

// Runs the program with `control` as descriptor 3 and /dev/null as 0 and 1.
// Returns 0 or an errno.
int Spawn(const UniqueFd& image, const UniqueFd& control, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  ::posix_spawn_file_actions_adddup2(&actions, control.get(), 3);
  // The program must be open when the child executes it. The child closes it.
  ::posix_spawn_file_actions_adddup2(&actions, image.get(), 4);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 5);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char name[] = "corral-supervisor";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  const int error = ::posix_spawn(pid, "/proc/self/fd/4", &actions, &attributes,
                                  arguments, environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

absl::StatusOr<UniqueFd> MakeSupervisorImage() {
  return MakeProgramImage("corral-supervisor", SupervisorImage());
}

absl::StatusOr<SupervisorProcess> StartSupervisor(const UniqueFd& image) {
  ASSIGN_OR_RETURN(auto pair, PacketSocket::Pair());
  // Above 3: dup2(2) onto the same number would leave close-on-exec set.
  const UniqueFd control(::fcntl(pair.second.fd(), F_DUPFD_CLOEXEC, 16));
  if (!control.valid()) {
    return absl::ErrnoToStatus(errno, "duplicate the control socket");
  }
  pid_t pid;
  const int error = Spawn(image, control, &pid);
  if (error != 0) {
    return absl::ErrnoToStatus(error, "start corral-supervisor");
  }
  auto pidfd = std::make_shared<UniqueFd>(
      static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd->valid()) {
    absl::Status failed = absl::ErrnoToStatus(errno, "pidfd_open");
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return failed;
  }
  return SupervisorProcess{std::move(pair.first), std::move(pidfd)};
}

bool IsAlive(const SupervisorProcess& supervisor) {
  // It sends nothing before it is asked: what can be read is its end.
  pollfd poll = {supervisor.socket.fd(), POLLIN, 0};
  return supervisor.socket.valid() && ::poll(&poll, 1, 0) == 0;
}

void KillSupervisor(const UniqueFd& pidfd) {
  if (pidfd.valid()) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }
}

}  // namespace sandbox

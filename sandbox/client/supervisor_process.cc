#include "sandbox/client/supervisor_process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sandbox/base/program_image.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/supervisor_image.h"

namespace sandbox {

absl::StatusOr<UniqueFd> MakeSupervisorImage() {
  return MakeProgramImage("corral-supervisor", SupervisorImage());
}

absl::StatusOr<SupervisorProcess> StartSupervisor(
    const UniqueFd& image,
    ::corral::supervisor::v1::SandboxSpec::Profile profile) {
  ASSIGN_OR_RETURN(auto pair, PacketSocket::Pair());
  const std::string name =
      ::corral::supervisor::v1::SandboxSpec::Profile_Name(profile);
  ASSIGN_OR_RETURN(const pid_t pid,
                   StartProgram("corral-supervisor", image, pair.second.fd(),
                                ErrorOutput::kInherited, name.c_str()));
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

bool IsAlive(SupervisorProcess& supervisor) {
  while (supervisor.socket.valid()) {
    ::corral::supervisor::v1::FromSupervisor answer;
    const absl::StatusOr<bool> got = supervisor.socket.Receive(&answer);
    if (got.ok() && !*got) {
      return true;
    }
    if (!got.ok() ||
        answer.reply().failure() != ::corral::supervisor::v1::Reply::NONE) {
      supervisor.socket = PacketSocket();
    } else {
      supervisor.answered = true;
    }
  }
  return false;
}

void KillSupervisor(const UniqueFd& pidfd) {
  if (pidfd.valid()) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }
}

}  // namespace sandbox

#include "sandbox/supervisor/played_spawner.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/statusor.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/log.h"

namespace sandbox {

PlayedSpawner::PlayedSpawner(EventLoop* loop) {
  int fds[2];
  CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
  theirs_.Reset(fds[1]);
  exchange_.Reset(::memfd_create("exchange", MFD_CLOEXEC));
  CHECK(::ftruncate(exchange_.get(), kExchangeSize) == 0);
  spawner_ = *Spawner::Create(
      loop, UniqueFd(fds[0]), exchange_, [](pid_t) { return true; },
      [] { LOG(FATAL) << "the spawner was lost"; });
}

PlayedSpawner::~PlayedSpawner() {
  if (pidfd_.valid()) {
    // Both fail if the command has reaped it.
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), nullptr, WEXITED);
  }
}

void PlayedSpawner::Receive() {
  char byte;
  absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(theirs_.get(), &byte, 1);
  CHECK(packet.ok() && packet->fds.size() == 4) << packet.status();
  fds_ = std::move(packet->fds);
  CHECK(::pread(exchange_.get(), &request_, sizeof(request_), 0) ==
        sizeof(request_));
}

void PlayedSpawner::Fork() {
  int fds[2];
  CHECK(::pipe(fds) == 0);
  const UniqueFd read(fds[0]);
  exit_code_.Reset(fds[1]);
  child_ = ::fork();
  if (child_ == 0) {
    unsigned char code = 0;
    ::close(fds[1]);
    ::_exit(::read(fds[0], &code, 1) == 1 ? code : 99);
  }
  pidfd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
}

void PlayedSpawner::Answer(SpawnStage stage, int error, int pidfd) {
  const SpawnAnswer answer = {stage, error, times_};
  const std::vector<int> fds =
      pidfd >= 0 ? std::vector<int>{pidfd} : std::vector<int>{};
  CHECK(SendWithFds(theirs_.get(), &answer, sizeof(answer), fds).ok());
}

void PlayedSpawner::Succeed() {
  Fork();
  Answer(SpawnStage::kNone, 0, pidfd_.get());
}

void PlayedSpawner::Fail(SpawnStage stage, int error, bool with_process) {
  fds_.clear();
  if (!with_process) {
    Answer(stage, error, -1);
    return;
  }
  Fork();
  Exit(1);
  Answer(stage, error, pidfd_.get());
}

void PlayedSpawner::FailFalsely() {
  fds_.clear();
  Fork();
  Answer(SpawnStage::kExec, ENOENT, pidfd_.get());
}

void PlayedSpawner::Exit(int code) {
  const auto byte = static_cast<unsigned char>(code);
  CHECK(::write(exit_code_.get(), &byte, 1) == 1);
  AwaitEnd();
}

void PlayedSpawner::Signal(int signal) {
  // Fails if the command was killed and reaped before.
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
  AwaitEnd();
}

void PlayedSpawner::AwaitEnd() const {
  siginfo_t info;
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOWAIT);
}

}  // namespace sandbox

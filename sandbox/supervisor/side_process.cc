#include "sandbox/supervisor/side_process.h"

#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/log.h"

namespace sandbox {
namespace {

// A process that was killed ends at once, unless its disk hangs.
constexpr absl::Duration kEndOfKilled = absl::Seconds(1);
// The limit for init to end after its supervisor.
constexpr absl::Duration kEndOfInit = absl::Seconds(10);

void CloseAllBut(std::vector<int> kept) {
  kept.insert(kept.end(), {0, 1, 2});
  std::sort(kept.begin(), kept.end());
  unsigned next = 0;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (next < number) {
      ::syscall(SYS_close_range, next, number - 1, 0);
    }
    next = number + 1;
  }
  ::syscall(SYS_close_range, next, ~0U, 0);
}

// Returns true if the process ended in time.
bool HasEnded(const UniqueFd& pidfd, absl::Duration limit) {
  pollfd ended = {pidfd.get(), POLLIN, 0};
  const auto milliseconds = static_cast<int>(absl::ToInt64Milliseconds(limit));
  return ::poll(&ended, 1, milliseconds) == 1;
}

}  // namespace

SideProcess::SideProcess(UniqueFd socket, pid_t pid, UniqueFd pidfd,
                         absl::Duration patience)
    : socket_(std::move(socket)),
      pid_(pid),
      pidfd_(std::move(pidfd)),
      patience_(patience) {}

absl::StatusOr<SideProcess> SideProcess::Start(const char* name,
                                               const std::vector<int>& kept,
                                               const Main& main,
                                               absl::Duration patience) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("socket of ", name));
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  int pidfd = -1;
  // Without a signal for its end, only __WALL finds it.
  clone_args arguments = {};
  arguments.flags = CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (pid < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("start ", name));
  }
  if (pid == 0) {
    ::prctl(PR_SET_NAME, name);
    std::vector<int> all = kept;
    all.push_back(theirs.get());
    CloseAllBut(std::move(all));
    // Nothing of the caller is destroyed here: its descriptors are closed.
    ::_exit(main(std::move(theirs)));
  }
  return SideProcess(std::move(ours), static_cast<pid_t>(pid), UniqueFd(pidfd),
                     patience);
}

void SideProcess::ReportSandboxEnd() const {
  const char over = 'e';
  (void)SendPacket(socket(), &over, 1, {}, MSG_DONTWAIT);
}

bool SideProcess::AwaitSandboxEnd(const UniqueFd& socket,
                                  const UniqueFd& init) {
  char byte;
  return ::recv(socket.get(), &byte, 1, 0) == 1 || HasEnded(init, kEndOfInit);
}

SideProcess::~SideProcess() {
  if (!pidfd_.valid()) {
    return;
  }
  socket_.Reset();
  if (!HasEnded(pidfd_, patience_)) {
    LOG(WARNING) << "a process beside the supervisor does not end; kills it";
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    (void)HasEnded(pidfd_, kEndOfKilled);
  }
  siginfo_t info;
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info,
           WEXITED | WNOHANG | __WALL);
}

}  // namespace sandbox

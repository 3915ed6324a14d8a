#include "sandbox/supervisor/command_processes.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/pty.h"
#include "sandbox/supervisor/reap.h"

namespace sandbox {
namespace {

// Pauses between attempts to kill: the first one, and the longest one if a
// process is slow to end.
constexpr absl::Duration kFirstPause = absl::Milliseconds(1);
constexpr absl::Duration kLongestPause = absl::Milliseconds(100);

}  // namespace

bool CommandProcesses::IsLeader(pid_t pid) {
  if (!leader_.valid()) {
    return false;
  }
  if (leader_pid_ == 0) {
    leader_pid_ = PidOf(leader_.get());
  }
  return leader_pid_ == pid;
}

void CommandProcesses::SignalLeader(int signal) {
  if (leader_.valid()) {
    ::syscall(SYS_pidfd_send_signal, leader_.get(), signal, nullptr, 0);
  }
}

void CommandProcesses::SignalTree(int signal) {
  if (group_ != nullptr) {
    group_->Signal(signal);
  }
}

absl::Status CommandProcesses::SignalForegroundGroup(int terminal, int signal) {
  if (signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP) {
    return SignalForeground(terminal, signal);
  }
  ASSIGN_OR_RETURN(const pid_t process_group, ForegroundGroup(terminal));
  if (process_group > 0 && group_ != nullptr) {
    group_->SignalProcessGroup(signal, process_group);
  }
  return absl::OkStatus();
}

void CommandProcesses::Kill() {
  // The leader first: it may otherwise see a child killed, or a fork that the
  // cgroup refuses, and exit by itself before its own signal arrives.
  SignalLeader(SIGKILL);
  KillGroup(kFirstPause);
}

void CommandProcesses::KillGroup(absl::Duration pause) {
  kill_again_.Cancel();
  if (group_ == nullptr || group_->Kill()) {
    all_dead_();
    return;
  }
  kill_again_ = Timer(timers_, pause, [this, pause] {
    KillGroup(std::min(2 * pause, kLongestPause));
  });
}

void CommandProcesses::NoteKilled() {
  if (group_ != nullptr) {
    killed_.Note(group_->Pids(), leader_.get());
  }
}

bool CommandProcesses::ReleaseGroup(
    const std::function<bool(std::unique_ptr<CommandGroup>&)>& take) {
  if (group_ != nullptr && !take(group_)) {
    return false;
  }
  kill_again_.Cancel();
  return true;
}

}  // namespace sandbox

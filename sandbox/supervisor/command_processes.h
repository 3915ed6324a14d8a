// The processes of one command: the command itself, called the leader, and all
// that live in its cgroup, which may outlive it.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_COMMAND_PROCESSES_H_
#define SANDBOX_SUPERVISOR_COMMAND_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/supervisor/command_group.h"
#include "sandbox/supervisor/killed_processes.h"

namespace sandbox {

class CommandProcesses {
 public:
  // `all_dead` is called each time that Kill() has left no process. `timers`
  // outlives this.
  CommandProcesses(Timers* timers, std::function<void()> all_dead)
      : timers_(timers), all_dead_(std::move(all_dead)) {}

  // Call it once, before all else.
  void SetGroup(std::unique_ptr<CommandGroup> group) {
    group_ = std::move(group);
  }
  const CommandGroup& group() const { return *group_; }
  // See CommandGroup.
  int BeginStart() { return group_->BeginStart(); }

  // The leader's pidfd while it has not been reaped; else invalid.
  const UniqueFd& leader() const { return leader_; }
  void SetLeader(UniqueFd pidfd) { leader_ = std::move(pidfd); }
  // Call it once the leader was reaped.
  UniqueFd TakeLeader() { return std::exchange(leader_, UniqueFd()); }

  // True once the leader was reaped and ReleaseGroup() has succeeded.
  bool released() const { return group_ == nullptr && !leader_.valid(); }

  // Returns true if this is the leader, which has not been reaped.
  bool IsLeader(pid_t pid);

  // Returns true if a process of the command lives.
  bool any() const { return group_ != nullptr && !group_->Pids().empty(); }

  void SignalLeader(int signal);
  void SignalTree(int signal);
  // Signals the foreground process group of the terminal whose master is
  // `terminal`, if it has one.
  absl::Status SignalForegroundGroup(int terminal, int signal);
  // Kills all processes, again and again until none is left. Does not wait.
  void Kill();

  // Records the processes that live now, except for the leader, because they
  // are about to be killed.
  void NoteKilled();
  void WriteKilled(wire::ExitRecord* exit) const { killed_.WriteTo(exit); }

  // Hands the cgroup over to `take`. If a process lives in the group, `take`
  // leaves it where it is, and both return false. Otherwise this object has no
  // group any more, and killing stops.
  bool ReleaseGroup(
      const std::function<bool(std::unique_ptr<CommandGroup>&)>& take);

 private:
  void KillGroup(absl::Duration pause);

  Timers* const timers_;
  const std::function<void()> all_dead_;
  std::unique_ptr<CommandGroup> group_;
  UniqueFd leader_;
  // 0: not known yet.
  pid_t leader_pid_ = 0;
  KilledProcesses killed_;
  Timer kill_again_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_PROCESSES_H_

// Frees a start from SIGSTOP. Between setresuid(2) and execve(2) a new process
// has the user id of commands, so a command can stop it; the spawner, which
// waits for the execution, would then start no other command.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_STOPPED_START_H_
#define SANDBOX_SUPERVISOR_STOPPED_START_H_

#include <sys/types.h>

#include <functional>
#include <utility>

namespace sandbox {

class StoppedStart {
 public:
  // Calls of Free() that find the start stopped before it is killed.
  static constexpr int kPatience = 250;

  // Returns true if the child is known, such as a running command. Known
  // children that are stopped stay so.
  using IsKnown = std::function<bool(pid_t)>;

  explicit StoppedStart(IsKnown is_known) : is_known_(std::move(is_known)) {}

  // Called when a command is about to be started.
  void Begin() { found_ = 0; }
  // Continues unknown children that are stopped: the process that is being
  // started, and those that a command made with CLONE_PARENT. Kills them when
  // they are stopped again and again.
  void Free();

 private:
  const IsKnown is_known_;
  int found_ = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_STOPPED_START_H_

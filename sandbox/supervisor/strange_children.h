// Children that the supervisor did not start. A command makes them with clone3
// and CLONE_PARENT: no filter sees that flag. Nobody else could reap them, and
// init could not end before they are.
//
// They belong to the cgroup of the command that made them and die with it.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_STRANGE_CHILDREN_H_
#define SANDBOX_SUPERVISOR_STRANGE_CHILDREN_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Blocks SIGCHLD in the calling thread and those that it starts from now on.
void BlockChildSignal();

class StrangeChildren {
 public:
  enum class Kind {
    kStrange,
    // The supervisor's own. The call has reaped it.
    kReaped,
    // The supervisor's own. Another object will reap it.
    kOwn,
  };
  struct Host {
    // Returns the kind of a child that has ended and was not reaped.
    std::function<Kind(pid_t)> recognize;
    // Calls the function when the pids of all children whose start has begun
    // are known. Returns false and calls nothing if they are known now.
    std::function<bool(absl::AnyInvocable<void()>)> await_starts;
  };

  // `loop` outlives this, and does not run after it.
  StrangeChildren(EventLoop* loop, Host host)
      : loop_(loop), host_(std::move(host)) {}
  StrangeChildren(const StrangeChildren&) = delete;
  StrangeChildren& operator=(const StrangeChildren&) = delete;

  // SIGCHLD must be blocked.
  absl::Status Watch();

 private:
  void OnSignal();
  void LookWhenIdle();
  void Look();
  // Returns false if it cannot be known yet whether the child is strange.
  bool Decide(pid_t pid);

  EventLoop* const loop_;
  Host host_;
  UniqueFd signals_;
  // LookWhenIdle() was called, and the loop was not idle since.
  bool scheduled_ = false;
  // A child that had ended before the awaited starts are over. If it is still
  // unknown then, it is strange.
  std::optional<pid_t> suspect_;
  bool awaiting_ = false;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_STRANGE_CHILDREN_H_

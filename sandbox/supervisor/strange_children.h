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
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
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

  // The time between the end of a child and a look, and between two looks. One
  // look is enough for several short commands.
  static constexpr absl::Duration kRest = absl::Milliseconds(10);

  // `loop` outlives this, and does not run after it. `timers` is the loop,
  // except in tests.
  StrangeChildren(EventLoop* loop, Timers* timers, Host host)
      : loop_(loop), timers_(timers), host_(std::move(host)) {}
  StrangeChildren(const StrangeChildren&) = delete;
  StrangeChildren& operator=(const StrangeChildren&) = delete;

  // SIGCHLD must be blocked.
  absl::Status Watch();

 private:
  void LookLater();
  void Look();
  // Returns false if it cannot be known yet whether the child is strange.
  bool Decide(pid_t pid);

  EventLoop* const loop_;
  Timers* const timers_;
  Host host_;
  UniqueFd signals_;
  Timer next_look_;
  // A child that had ended before the awaited starts are over. If it is still
  // unknown then, it is strange.
  std::optional<pid_t> suspect_;
  bool awaiting_ = false;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_STRANGE_CHILDREN_H_

// Has all processes of a command killed once the kernel has killed one of them
// because memory ran out (Limits.kill_all_on_oom). With cgroup v2 the kernel
// does it by itself; v1 announces only that memory runs out in the command's
// group or above it. The announcement comes before the kernel has killed
// anything, and it may kill a process of another command. So the count of
// killed processes decides.
//
// Used on the event loop's thread only. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_OOM_WATCH_H_
#define SANDBOX_SUPERVISOR_OOM_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class OomWatch {
 public:
  // `count` returns how many processes of the command the kernel has killed;
  // `kill` kills all others. Both are called only between Start() and Stop(),
  // and `kill` once at most. The pointers outlive this.
  OomWatch(EventLoop* loop, Timers* timers, std::function<uint64_t()> count,
           std::function<void()> kill)
      : loop_(loop),
        timers_(timers),
        count_(std::move(count)),
        kill_(std::move(kill)) {}
  ~OomWatch() { Stop(); }
  OomWatch(const OomWatch&) = delete;
  OomWatch& operator=(const OomWatch&) = delete;

  // `events` are those of CommandGroup::OomEvents(). Does nothing if they are
  // invalid.
  void Start(UniqueFd events);
  void Stop();

 private:
  void OnEvent();
  // Checks the count, and again after `pause`, as long as `patience` lasts.
  void Check(absl::Duration pause, absl::Duration patience);

  EventLoop* const loop_;
  Timers* const timers_;
  const std::function<uint64_t()> count_;
  const std::function<void()> kill_;
  UniqueFd events_;
  Timer check_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OOM_WATCH_H_

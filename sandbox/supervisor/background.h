// Runs functions that block, away from the event loop.

#ifndef SANDBOX_SUPERVISOR_BACKGROUND_H_
#define SANDBOX_SUPERVISOR_BACKGROUND_H_

#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "sandbox/base/mutex.h"

namespace sandbox {

// An interface, so that a test decides when the work is done.
class Background {
 public:
  using Function = absl::AnyInvocable<void()>;

  // Waits for a function that runs, and drops those that have not begun.
  virtual ~Background() = default;
  // Runs `function` after those that were given before. Called on the owner's
  // thread only.
  virtual void Run(Function function) = 0;
};

// One thread, started by the first function.
class BackgroundThread final : public Background {
 public:
  ~BackgroundThread() override;
  void Run(Function function) override;

 private:
  void Loop();

  std::thread thread_;
  Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Function> functions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_BACKGROUND_H_

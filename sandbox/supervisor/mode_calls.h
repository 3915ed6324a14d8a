// The calls of chmod(2) that the supervisor makes for commands; see
// ../kernel/directory_modes.h.
//
// Used on the event loop's thread only. The calls are made on a thread of their
// own, since a file system may take its time.

#ifndef SANDBOX_SUPERVISOR_MODE_CALLS_H_
#define SANDBOX_SUPERVISOR_MODE_CALLS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/directory_modes.h"
#include "sandbox/supervisor/background.h"

struct seccomp_notif;

namespace sandbox {

class ModeCalls {
 public:
  // `listener` is that of the filter (seccomp_unotify(2)). `init` is a process
  // in the mounts of the sandbox, whose ids begin at `first_id`. `loop` and
  // `init` must outlive the object.
  ModeCalls(EventLoop* loop, UniqueFd listener, const UniqueFd* init,
            uint32_t first_id);
  // Calls that still wait fail with ENOSYS. Waits for one that is being made.
  ~ModeCalls();
  ModeCalls(const ModeCalls&) = delete;
  ModeCalls& operator=(const ModeCalls&) = delete;

 private:
  void OnEvent(uint32_t events);
  // On the thread of the calls.
  void Answer(const seccomp_notif& call);
  int Make(const seccomp_notif& call);

  EventLoop* const loop_;
  const UniqueFd listener_;
  const UniqueFd* const init_;
  const uint32_t first_id_;
  bool watching_ = true;
  // Made by the first call. Belongs to the thread of the calls.
  std::optional<absl::StatusOr<DirectoryModes>> modes_;
  // Ends before what it uses.
  BackgroundThread thread_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_MODE_CALLS_H_

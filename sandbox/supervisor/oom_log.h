// Whom the kernel killed for want of memory: its counters say how many
// processes, only its log says which.
//
// Format of the log: Linux Documentation/ABI/testing/dev-kmsg; of the line:
// __oom_kill_process in mm/oom_kill.c.

#ifndef SANDBOX_SUPERVISOR_OOM_LOG_H_
#define SANDBOX_SUPERVISOR_OOM_LOG_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sandbox {

// Takes records of the kernel's log one by one.
class OomLog {
 public:
  // Looks for `pid` among the processes whose user ids are those of the sandbox
  // that begins at `first_id`.
  OomLog(pid_t pid, uint32_t first_id) : pid_(pid), first_id_(first_id) {}

  void Take(absl::string_view record);

  // Not known to be another: true too if nothing was said of the sandbox.
  bool MayBeVictim() const { return is_victim_ || !others_; }

 private:
  const pid_t pid_;
  const uint32_t first_id_;
  bool is_victim_ = false;
  bool others_ = false;
};

// What /dev/kmsg says. Takes a few milliseconds. A host that does not show its
// log says nothing; nor does one that has other numbers for pids and users.
bool MayBeOomVictim(pid_t pid, uint32_t first_id);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OOM_LOG_H_

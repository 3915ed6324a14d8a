// Finds out which processes the kernel killed for lack of memory. Its counters
// show only how many; its log names them.
//
// Format of the log: Linux Documentation/ABI/testing/dev-kmsg; of the line:
// __oom_kill_process in mm/oom_kill.c.

#ifndef SANDBOX_SUPERVISOR_OOM_LOG_H_
#define SANDBOX_SUPERVISOR_OOM_LOG_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Reads records of the kernel's log one by one.
class OomLog {
 public:
  // Looks for `pid` among the processes whose user ids are those of the sandbox
  // that begins at `first_id`.
  OomLog(pid_t pid, uint32_t first_id) : pid_(pid), first_id_(first_id) {}

  void Take(absl::string_view record);
  // Takes all records that `kmsg` has now. It does not block, and each read(2)
  // returns one record.
  void TakeAll(const UniqueFd& kmsg);

  // Returns false if the log names other processes of the sandbox, and not this
  // one.
  bool MayBeVictim() const { return is_victim_ || !others_; }

 private:
  const pid_t pid_;
  const uint32_t first_id_;
  bool is_victim_ = false;
  bool others_ = false;
};

// Reads /dev/kmsg, which takes a few milliseconds. Returns true also if the log
// cannot be read, or if it has the pids and user ids of other namespaces.
bool MayBeOomVictim(pid_t pid, uint32_t first_id);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OOM_LOG_H_

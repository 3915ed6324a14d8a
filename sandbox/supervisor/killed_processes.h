// The processes that were alive when Corral killed a command.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_KILLED_PROCESSES_H_
#define SANDBOX_SUPERVISOR_KILLED_PROCESSES_H_

#include <sys/types.h>

#include <set>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class KilledProcesses {
 public:
  // Adds the processes `pids` that were not added before, except for the
  // process of `leader`, a pidfd or -1. Reads a few files for each of the first
  // 32: call it only when the processes are about to be killed.
  void Note(const std::vector<pid_t>& pids, int leader);

  void WriteTo(wire::ExitRecord* exit) const;

 private:
  std::set<pid_t> noted_;
  // Details of the first of them.
  std::vector<wire::ExitRecord::Killed> first_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_KILLED_PROCESSES_H_

// Whom Corral's own killing of an execution met alive.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_KILLED_PROCESSES_H_
#define SANDBOX_SUPERVISOR_KILLED_PROCESSES_H_

#include <sys/types.h>

#include <set>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class KilledProcesses {
 public:
  // Adds what lives in the group and was not noted before, but for the process
  // behind `leader`, a pidfd or -1. Reads a few files for each of the first 32:
  // for when something is about to be killed.
  void Note(const Cgroup& cgroup, int leader);

  void WriteTo(wire::ExitRecord* exit) const;

 private:
  std::set<pid_t> noted_;
  // The first of them.
  std::vector<wire::ExitRecord::Killed> first_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_KILLED_PROCESSES_H_

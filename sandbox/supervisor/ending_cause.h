// The cause of a command's end, as a pure function of the facts.

#ifndef SANDBOX_SUPERVISOR_ENDING_CAUSE_H_
#define SANDBOX_SUPERVISOR_ENDING_CAUSE_H_

#include <optional>
#include <set>

#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

struct EndingFacts {
  // The status of waitpid(2).
  int wait_status = 0;
  // The first reason for which the supervisor decided to kill the command: a
  // deletion, or lost output. The command may have ended by itself all the
  // same.
  std::optional<wire::ExitRecord::Cause> condemned;
  // The timeout that expired: WALL_TIMEOUT or CPU_TIMEOUT.
  std::optional<wire::ExitRecord::Cause> timed_out;
  // Signals that clients sent to the command, and SIGKILL after a grace period.
  std::set<int> client_signals;
  // True if the kernel killed a process of the command for lack of memory. As
  // far as the kernel's log says, that was the command itself.
  bool oom_victim = false;
  // True if the kernel killed any process of the command for lack of memory,
  // and all of them must go then.
  bool out_of_memory = false;
  // True if init has ended or is about to; the kernel kills all commands with
  // it.
  bool init_ends = false;
  // Why the logs lack some of the output: OUTPUT_LIMIT or OUTPUT_FAILED.
  std::optional<wire::ExitRecord::Cause> output_loss;
};

// Returns true if the command was killed by SIGKILL.
bool IsKilled(const EndingFacts& facts);

// Returns no value if the command was killed because init ended: then it has no
// end of its own.
std::optional<wire::ExitRecord::Cause> CauseOfEnding(const EndingFacts& facts);

// Returns true if the supervisor decided to kill the command because the
// execution, its sandbox or its server ends, and not because of its output.
bool IsDeleted(const EndingFacts& facts);

// Returns true if the rest in the pipes is discarded: nobody reads the output
// of a deleted command, and a disk that failed takes no more.
bool DiscardsOutput(const EndingFacts& facts);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_ENDING_CAUSE_H_

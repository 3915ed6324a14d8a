// Why a command ended, as a pure function of what is known about its end.

#ifndef SANDBOX_SUPERVISOR_ENDING_CAUSE_H_
#define SANDBOX_SUPERVISOR_ENDING_CAUSE_H_

#include <optional>
#include <set>

#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

struct EndingFacts {
  // From waitpid(2).
  int wait_status = 0;
  // The first reason for which the supervisor was to kill the command, whether
  // or not that killed it: a deletion, or output that was lost.
  std::optional<wire::ExitRecord::Cause> condemned;
  // The timeout that expired: WALL_TIMEOUT or CPU_TIMEOUT.
  std::optional<wire::ExitRecord::Cause> timed_out;
  // Signals that clients sent to the command, or had sent after a grace period.
  std::set<int> client_signals;
  // The kernel killed a process of the command for want of memory, and its log
  // does not say that this was another one than the command itself.
  bool oom_victim = false;
  // Init has ended or is about to, and the kernel kills all commands with it.
  bool init_ends = false;
  // Why the logs lack some of the output: OUTPUT_LIMIT or OUTPUT_FAILED.
  std::optional<wire::ExitRecord::Cause> output_loss;
};

// The command was killed by SIGKILL.
bool IsKilled(const EndingFacts& facts);

// Nothing: the command was killed because init ended, so it has no end of its
// own.
std::optional<wire::ExitRecord::Cause> CauseOfEnding(const EndingFacts& facts);

// The command is to be killed for another reason than its output: it, its
// sandbox or its server ends.
bool IsDeleted(const EndingFacts& facts);

// Returns whether the rest in the pipes is discarded: nobody reads the
// output of a deleted command, and a disk that failed takes no more.
bool DiscardsOutput(const EndingFacts& facts);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_ENDING_CAUSE_H_

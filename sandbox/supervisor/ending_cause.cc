#include "sandbox/supervisor/ending_cause.h"

#include <signal.h>
#include <sys/wait.h>

namespace sandbox {

bool IsKilled(const EndingFacts& facts) {
  return WIFSIGNALED(facts.wait_status) &&
         WTERMSIG(facts.wait_status) == SIGKILL;
}

std::optional<wire::ExitRecord::Cause> CauseOfEnding(const EndingFacts& facts) {
  const bool killed = IsKilled(facts);
  if (killed && facts.condemned.has_value()) {
    return facts.condemned;
  }
  if (killed && facts.init_ends) {
    return std::nullopt;
  }
  // A command that expires gets SIGTERM first and may exit by itself.
  if (facts.timed_out.has_value()) {
    return facts.timed_out;
  }
  if (WIFSIGNALED(facts.wait_status) &&
      facts.client_signals.count(WTERMSIG(facts.wait_status)) != 0) {
    return wire::ExitRecord::CLIENT_SIGNAL;
  }
  if (facts.out_of_memory || (killed && facts.oom_victim)) {
    return wire::ExitRecord::OUT_OF_MEMORY;
  }
  return facts.output_loss.value_or(wire::ExitRecord::NORMAL);
}

bool IsDeleted(const EndingFacts& facts) {
  return facts.condemned.has_value() &&
         facts.condemned != wire::ExitRecord::OUTPUT_LIMIT &&
         facts.condemned != wire::ExitRecord::OUTPUT_FAILED;
}

bool DiscardsOutput(const EndingFacts& facts) {
  return facts.condemned.has_value() &&
         facts.condemned != wire::ExitRecord::OUTPUT_LIMIT;
}

}  // namespace sandbox

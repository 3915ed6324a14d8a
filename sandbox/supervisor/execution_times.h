// When an execution was requested, started and ended, and how long it ran.
// Correct even if the clock is set meanwhile.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_EXECUTION_TIMES_H_
#define SANDBOX_SUPERVISOR_EXECUTION_TIMES_H_

#include <cstdint>
#include <functional>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/instant.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class ExecutionTimes {
 public:
  using Clock = std::function<Instant()>;

  explicit ExecutionTimes(Clock clock = Instant::Now);

  // Set create_time_ns, start_time_ns, and end_time_ns with the usage's
  // wall_time_ns, to now. No time is before the one that it follows.
  void Create(wire::ExecutionRecord* record) const;
  void Start(wire::ExecutionRecord* record);
  // A command without a start failed to start, and has no wall time.
  void End(wire::ExecutionRecord* record) const;

 private:
  Clock clock_;
  // When it started, by the monotonic clock.
  int64_t started_ns_ = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_EXECUTION_TIMES_H_

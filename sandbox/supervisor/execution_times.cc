#include "sandbox/supervisor/execution_times.h"

#include <algorithm>
#include <utility>

namespace sandbox {

ExecutionTimes::ExecutionTimes(Clock clock) : clock_(std::move(clock)) {}

void ExecutionTimes::Create(wire::ExecutionRecord* record) const {
  record->set_create_time_ns(clock_().unix_ns);
}

void ExecutionTimes::Start(wire::ExecutionRecord* record) {
  const Instant now = clock_();
  started_ns_ = now.monotonic_ns;
  record->set_start_time_ns(std::max(now.unix_ns, record->create_time_ns()));
}

void ExecutionTimes::End(wire::ExecutionRecord* record) const {
  const Instant now = clock_();
  record->set_end_time_ns(std::max(
      {now.unix_ns, record->create_time_ns(), record->start_time_ns()}));
  if (record->start_time_ns() != 0) {
    record->mutable_usage()->set_wall_time_ns(now.monotonic_ns - started_ns_);
  }
}

}  // namespace sandbox

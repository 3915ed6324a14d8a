#include "sandbox/supervisor/stage_times.h"

#include <algorithm>
#include <utility>

namespace sandbox {

StageTimes::StageTimes(const wire::StartExecution& start, Clock clock)
    : clock_(std::move(clock)) {
  if (start.has_trace()) {
    begin_ns_ = start.trace_begin_ns();
    trace_ = std::make_unique<wire::ExecutionTrace>(start.trace());
    Note(&wire::ExecutionTrace::set_accepted_ns);
  }
}

void StageTimes::Spawned(const SpawnTimes& times) {
  if (!traced()) {
    return;
  }
  const auto take = [this](int64_t monotonic_ns, Setter set) {
    if (monotonic_ns != 0) {
      (trace_.get()->*set)(SinceBegin(monotonic_ns));
    }
  };
  take(times.taken_ns, &wire::ExecutionTrace::set_spawning_ns);
  take(times.executing_ns, &wire::ExecutionTrace::set_executing_ns);
  take(times.executed_ns, &wire::ExecutionTrace::set_executed_ns);
}

void StageTimes::Output() {
  if (traced() && trace_->first_byte_ns() == 0) {
    Note(&wire::ExecutionTrace::set_first_byte_ns);
  }
}

void StageTimes::AddTo(wire::ExecutionRecord* record) const {
  if (traced()) {
    *record->mutable_trace() = *trace_;
  }
}

void StageTimes::Note(Setter set) {
  if (traced()) {
    (trace_.get()->*set)(SinceBegin(clock_()));
  }
}

int64_t StageTimes::SinceBegin(int64_t monotonic_ns) const {
  // 0 stands for a moment that has not come.
  return std::max<int64_t>(monotonic_ns - begin_ns_, 1);
}

}  // namespace sandbox

// When a traced execution reached its stages; see corral.v1.ExecutionTrace. An
// execution that is not traced has none, and pays nothing for it.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_STAGE_TIMES_H_
#define SANDBOX_SUPERVISOR_STAGE_TIMES_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/instant.h"
#include "sandbox/init/exchange.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class StageTimes {
 public:
  // Returns the time of the monotonic clock.
  using Clock = std::function<int64_t()>;

  // Notes that the execution is accepted, if `start` asks for a trace.
  explicit StageTimes(const wire::StartExecution& start,
                      Clock clock = MonotonicNanoseconds);

  bool traced() const { return trace_ != nullptr; }

  void Prepared() { Note(&wire::ExecutionTrace::set_prepared_ns); }
  // Notes the times that the spawner took.
  void Spawned(const SpawnTimes& times);
  // The first call counts.
  void Output();
  void Exited() { Note(&wire::ExecutionTrace::set_exited_ns); }
  void Drained() { Note(&wire::ExecutionTrace::set_drained_ns); }
  void Recorded() { Note(&wire::ExecutionTrace::set_recorded_ns); }

  // Sets the trace of the record to what is known now.
  void AddTo(wire::ExecutionRecord* record) const;

 private:
  using Setter = void (wire::ExecutionTrace::*)(int64_t);

  void Note(Setter set);
  // Converts a time of the monotonic clock.
  int64_t SinceBegin(int64_t monotonic_ns) const;

  const Clock clock_;
  int64_t begin_ns_ = 0;
  // Null if the execution is not traced.
  std::unique_ptr<wire::ExecutionTrace> trace_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_STAGE_TIMES_H_

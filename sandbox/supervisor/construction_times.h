// When the steps ended that make a sandbox; see corral.v1.SandboxTrace.
//
// A child that is forked while an object exists shares its memory, so that both
// note the steps that they take. Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_CONSTRUCTION_TIMES_H_
#define SANDBOX_SUPERVISOR_CONSTRUCTION_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/instant.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class ConstructionTimes {
 public:
  enum class Step {
    kGroups,
    kNamespaces,
    kJoin,
    kMounts,
    kInit,
    kSpawner,
    kFilter,
    kReady,
    // No step ends here: the request has come.
    kClaim,
    kLimits,
    kWorkspaces,
    kProtection,
    kWayOut,
  };

  // Returns nanoseconds of the monotonic clock.
  using Clock = int64_t (*)();

  // Without memory, notes nothing.
  ConstructionTimes() = default;
  // Has memory, if there is some left.
  static ConstructionTimes Start(Clock clock = MonotonicNanoseconds);

  // The first step began then.
  void SetBegin(const Instant& begin) { begin_ = begin; }
  // The step ends now. A step that is taken again counts as taken then.
  void Note(Step step) const;

  // Returns how long each step took since the one that ended before it.
  wire::SandboxTrace ToWire() const;

 private:
  static constexpr size_t kSteps = static_cast<size_t>(Step::kWayOut) + 1;
  struct Unmap {
    void operator()(int64_t* ends) const;
  };

  Clock clock_ = MonotonicNanoseconds;
  Instant begin_;
  // By the monotonic clock; 0: not taken.
  std::unique_ptr<int64_t[], Unmap> ends_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONSTRUCTION_TIMES_H_

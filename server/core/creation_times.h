// How long the server's steps of the creation of a sandbox take; see
// corral.v1.SandboxTrace.
//
// Not thread-safe.

#ifndef SERVER_CORE_CREATION_TIMES_H_
#define SERVER_CORE_CREATION_TIMES_H_

#include <cstdint>

#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/instant.h"

namespace server {

class CreationTimes {
 public:
  // The request is received now.
  CreationTimes() = default;

  // End the steps `admission`, `record` and `supervisor` now.
  void Admitted() { admission_ns_ = EndStep(); }
  void Recorded() { record_ns_ = EndStep(); }
  void Made() { supervisor_ns_ = EndStep(); }

  // Sets the steps that have ended in the trace of `sandbox`.
  void AddTo(corral::v1::Sandbox* sandbox) const;

 private:
  // Returns the time since `begin_ns_`, at least 1, and begins the next step.
  int64_t EndStep();

  // The begin of the step that has not ended.
  int64_t begin_ns_ = sandbox::MonotonicNanoseconds();
  // 0: the step has not ended.
  int64_t admission_ns_ = 0;
  int64_t record_ns_ = 0;
  int64_t supervisor_ns_ = 0;
};

}  // namespace server

#endif  // SERVER_CORE_CREATION_TIMES_H_

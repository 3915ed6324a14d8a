// The creation of one sandbox by a supervisor, which is replaced once if it
// ends before it has answered:
//
//   kAsked --(supervisor ended, another one started)--> kAskedAgain
//   kAsked, kAskedAgain --(answered, or no supervisor is left)--> kOver
//
// A supervisor that does not answer in time is killed, which ends it.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_CLIENT_SANDBOX_CREATION_H_
#define SANDBOX_CLIENT_SANDBOX_CREATION_H_

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/client/supervisor_process.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class SandboxCreation {
 public:
  // The time in which a supervisor must make a sandbox from nothing. Many
  // others may do so at the same time.
  static constexpr absl::Duration kFreshPatience = absl::Seconds(30);

  // Starts another supervisor.
  using Replace = std::function<absl::StatusOr<SupervisorProcess>()>;

  enum class State { kAsked, kAskedAgain, kOver };

  // The first supervisor has `patience` to answer `request`. `kill` kills the
  // one that was asked last.
  SandboxCreation(Timers* timers, wire::ToSupervisor request,
                  absl::Duration patience, Replace replace,
                  std::function<void()> kill);

  State state() const { return state_; }
  // The request that each supervisor gets.
  const wire::ToSupervisor& request() const { return request_; }

  // A supervisor answered, or nobody waits for an answer any more.
  void OnAnswer();
  // The supervisor that was asked has ended. Returns its replacement, which has
  // kFreshPatience to answer; no value if there is none, or if the creation is
  // over.
  std::optional<SupervisorProcess> OnEnd();

 private:
  void Finish();

  Timers* const timers_;
  const wire::ToSupervisor request_;
  const Replace replace_;
  const std::function<void()> kill_;
  State state_ = State::kAsked;
  Timer deadline_;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_SANDBOX_CREATION_H_

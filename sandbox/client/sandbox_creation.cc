#include "sandbox/client/sandbox_creation.h"

#include <utility>

#include "sandbox/base/log.h"

namespace sandbox {

SandboxCreation::SandboxCreation(Timers* timers, wire::ToSupervisor request,
                                 absl::Duration patience, Replace replace,
                                 std::function<void()> kill)
    : timers_(timers),
      request_(std::move(request)),
      replace_(std::move(replace)),
      kill_(std::move(kill)),
      deadline_(timers, patience, [this] { kill_(); }) {}

void SandboxCreation::OnAnswer() { MoveTo(State::kOver); }

std::optional<SupervisorProcess> SandboxCreation::OnEnd() {
  if (state_ != State::kAsked) {
    MoveTo(State::kOver);
    return std::nullopt;
  }
  absl::StatusOr<SupervisorProcess> other = replace_();
  if (!other.ok()) {
    LOG(ERROR) << "cannot start another supervisor: "
               << other.status().ToString();
    MoveTo(State::kOver);
    return std::nullopt;
  }
  LOG(WARNING) << "a supervisor ended before it had made its sandbox; started "
                  "another one";
  MoveTo(State::kAskedAgain);
  return *std::move(other);
}

void SandboxCreation::MoveTo(State state) {
  state_ = state;
  switch (state) {
    case State::kAsked:
      break;
    case State::kAskedAgain:
      deadline_ = Timer(timers_, kFreshPatience, [this] { kill_(); });
      break;
    case State::kOver:
      deadline_.Cancel();
      break;
  }
}

}  // namespace sandbox

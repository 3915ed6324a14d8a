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

void SandboxCreation::OnAnswer() { Finish(); }

std::optional<SupervisorProcess> SandboxCreation::OnEnd() {
  if (state_ != State::kAsked) {
    Finish();
    return std::nullopt;
  }
  absl::StatusOr<SupervisorProcess> other = replace_();
  if (!other.ok()) {
    LOG(ERROR) << "cannot start another supervisor: "
               << other.status().ToString();
    Finish();
    return std::nullopt;
  }
  LOG(WARNING) << "a supervisor ended before it had made its sandbox; started "
                  "another one";
  state_ = State::kAskedAgain;
  deadline_ = Timer(timers_, kFreshPatience, [this] { kill_(); });
  return *std::move(other);
}

void SandboxCreation::Finish() {
  state_ = State::kOver;
  deadline_.Cancel();
}

}  // namespace sandbox

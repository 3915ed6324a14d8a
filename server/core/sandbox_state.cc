#include "server/core/sandbox_state.h"

#include <optional>

#include "corral/v1/sandbox.pb.h"

namespace server {

SandboxState::Action SandboxState::Handle(Event event,
                                          std::optional<Cause> cause) {
  switch (event) {
    case Event::kMade:
      return OnMade();
    case Event::kNotMade:
      if (state_ == State::kCreating) {
        state_ = State::kEnding;
      }
      return Action::kNothing;
    case Event::kAbandoned:
      if (state_ != State::kCreating) {
        return Action::kNothing;
      }
      state_ = State::kRemoved;
      return Action::kAnswerRemoved;
    case Event::kDeletionRequested:
      if (!deletion_cause_.has_value()) {
        deletion_cause_ = cause;
      }
      return OnDeletionRequested();
    case Event::kDeletionRecorded:
      if (state_ != State::kRecordingDeletion) {
        return Action::kNothing;
      }
      state_ = State::kEnding;
      return Action::kKill;
    case Event::kGone:
      return OnGone();
    case Event::kFilesRemoved:
      if (state_ != State::kEmptied) {
        return Action::kNothing;
      }
      state_ = State::kRemoved;
      return Action::kAnswerRemoved;
  }
  return Action::kNothing;
}

SandboxState::Action SandboxState::OnMade() {
  if (!pending()) {
    return Action::kNothing;
  }
  if (deletion_cause_.has_value()) {
    state_ = State::kRecordingDeletion;
    return Action::kRecordDeletion;
  }
  state_ = State::kReady;
  return Action::kAnswerReady;
}

SandboxState::Action SandboxState::OnDeletionRequested() {
  switch (state_) {
    case State::kCreating:
      return Action::kNothing;  // its supervisor takes no request before kMade
    case State::kRecovering:
    case State::kReady:
      state_ = State::kRecordingDeletion;
      return Action::kRecordDeletion;
    case State::kFailed:
      state_ = State::kEmptied;
      return Action::kRecordAndRemoveFiles;
    case State::kRecordingDeletion:
    case State::kEnding:
    case State::kEmptied:
    case State::kRemoved:
      return Action::kNothing;
  }
  return Action::kNothing;
}

SandboxState::Action SandboxState::OnGone() {
  switch (state_) {
    case State::kCreating:
      if (deletion_cause_.has_value()) {
        state_ = State::kEmptied;
        return Action::kRemoveFiles;
      }
      state_ = State::kFailed;
      return Action::kReportLosses;
    case State::kRecovering:
    case State::kReady:
      state_ = State::kFailed;
      return Action::kReportLosses;
    case State::kRecordingDeletion:
    case State::kEnding:
      state_ = State::kEmptied;
      return Action::kRemoveFiles;
    case State::kFailed:
    case State::kEmptied:
    case State::kRemoved:
      return Action::kNothing;
  }
  return Action::kNothing;
}

corral::v1::Sandbox::State SandboxState::ToApi() const {
  switch (state_) {
    case State::kCreating:
    case State::kRecovering:
      return corral::v1::Sandbox::CREATING;
    case State::kReady:
      return corral::v1::Sandbox::READY;
    case State::kRecordingDeletion:
    case State::kEnding:
    case State::kEmptied:
    case State::kRemoved:
      return corral::v1::Sandbox::DELETING;
    case State::kFailed:
      return corral::v1::Sandbox::FAILED;
  }
  return corral::v1::Sandbox::STATE_UNSPECIFIED;
}

}  // namespace server

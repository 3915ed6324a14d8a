#include "bridge/cli/attach/replay_guard.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

// DSR, device status report: ECMA-48, 8.3.35.
constexpr absl::string_view kQuestion = "\x1b[5n";
constexpr absl::string_view kAnswer = "\x1b[0n";

// Returns true if `byte` completes `text`, of which `matched` bytes have
// arrived. Correct for a text whose first byte occurs only once.
bool Completes(char byte, absl::string_view text, size_t& matched) {
  matched = byte == text[matched] ? matched + 1 : (byte == text[0] ? 1 : 0);
  if (matched < text.size()) {
    return false;
  }
  matched = 0;
  return true;
}

}  // namespace

void ReplayGuard::OnReplay(absl::string_view output) {
  MutexLock lock(&mutex_);
  for (const char byte : output) {
    questions_ += Completes(byte, kQuestion, matched_question_) ? 1 : 0;
  }
}

absl::string_view ReplayGuard::OnReplayEnd(absl::Time now) {
  MutexLock lock(&mutex_);
  state_ = State::kAwaitingAnswer;
  deadline_ = now + patience_;
  ++questions_;
  return kQuestion;
}

std::string ReplayGuard::Filter(absl::string_view typed, absl::Time now) {
  MutexLock lock(&mutex_);
  if (state_ == State::kAwaitingAnswer && now >= deadline_) {
    state_ = State::kOver;
  }
  while (!typed.empty() && state_ != State::kOver) {
    questions_ -= Completes(typed[0], kAnswer, matched_answer_) ? 1 : 0;
    typed.remove_prefix(1);
    if (state_ == State::kAwaitingAnswer && questions_ <= 0) {
      state_ = State::kOver;
    }
  }
  return static_cast<std::string>(typed);
}

}  // namespace bridge

// Keeps a terminal's answers to old questions from the command.

#ifndef BRIDGE_CLI_ATTACH_REPLAY_GUARD_H_
#define BRIDGE_CLI_ATTACH_REPLAY_GUARD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// When the log of a terminal is shown again, it may hold questions to the
// terminal (ESC [ 6 n: where is the cursor?), which this terminal answers as if
// they were new, and what it answers comes as if it were typed. So nothing that
// is typed during the replay is passed on. Terminals answer in order: the
// replay ends with a question of our own (ESC [ 5 n: are you well?), and what
// is typed after the answer (ESC [ 0 n) is the user's. Of a terminal that does
// not answer within 1 s no more answers are expected.
//
// Thread-safe: output and input are of different threads.
class ReplayGuard {
 public:
  // Output that is shown again.
  void OnReplay(absl::string_view output) ABSL_LOCKS_EXCLUDED(mutex_);

  // The last of it was shown. The question to write to the terminal now.
  absl::string_view OnReplayEnd(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // What of `typed` is to be passed on.
  std::string Filter(absl::string_view typed, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class State { kReplaying, kAwaitingAnswer, kOver };

  sandbox::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kReplaying;
  absl::Time deadline_ ABSL_GUARDED_BY(mutex_);
  // How many of the same question await an answer.
  int questions_ ABSL_GUARDED_BY(mutex_) = 0;
  // How many bytes of the next question, or answer, are there.
  size_t matched_question_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t matched_answer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_REPLAY_GUARD_H_

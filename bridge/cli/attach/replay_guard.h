// Keeps a terminal's answers to old queries away from the command.

#ifndef BRIDGE_CLI_ATTACH_REPLAY_GUARD_H_
#define BRIDGE_CLI_ATTACH_REPLAY_GUARD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Old output that is shown again may contain queries (ESC [ 6 n asks where the
// cursor is). The terminal answers them as if they were new, and its answers
// arrive as if they were typed. So input that arrives during the replay is
// dropped. Terminals answer in order: the replay ends with a query of our own
// (ESC [ 5 n asks for the status), and input after the answer to it (ESC [ 0 n)
// is the user's. If no answer arrives in time, none is expected any more.
//
// Thread-safe: one thread writes output, another one reads input.
class ReplayGuard {
 public:
  // Expects no answer that takes longer than `patience`.
  explicit ReplayGuard(absl::Duration patience) : patience_(patience) {}

  // Called when old output was shown.
  void OnReplay(absl::string_view output) ABSL_LOCKS_EXCLUDED(mutex_);

  // Called when all old output was shown. Returns the query to write to the
  // terminal now.
  absl::string_view OnReplayEnd(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the part of `typed` to pass on to the command.
  std::string Filter(absl::string_view typed, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class State { kReplaying, kAwaitingAnswer, kOver };

  const absl::Duration patience_;
  sandbox::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kReplaying;
  absl::Time deadline_ ABSL_GUARDED_BY(mutex_);
  // Our query, and the same query in old output, each get an answer.
  int questions_ ABSL_GUARDED_BY(mutex_) = 0;
  // How many bytes of the next query, or answer, have arrived.
  size_t matched_question_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t matched_answer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_REPLAY_GUARD_H_

#ifndef BRIDGE_ACP_TERMINALS_TERMINAL_H_
#define BRIDGE_ACP_TERMINALS_TERMINAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/acp/terminals/text_tail.h"
#include "bridge/acp/terminals/utf8_decoder.h"

namespace bridge {

// One terminal as an agent sees it: the tail of its output as text, how its
// command ended, and the requests that wait for that end. Not thread-safe.
class Terminal {
 public:
  enum class State {
    kRunning,  // or it is not known for now if it still runs
    kExited,   // exit_status() is known
    kLost,     // the command is gone; how it ended is not known
  };

  explicit Terminal(size_t output_limit_bytes) : tail_(output_limit_bytes) {}

  // Appends output that begins at `offset`. Skips bytes before cursor(), which
  // are known already. Marks the output as truncated if bytes between cursor()
  // and `offset` are missing. Returns the new text.
  std::string Append(uint64_t offset, absl::string_view bytes);

  // Appends a line of Corral's own, which is no output of the command. Returns
  // the new text.
  std::string AppendLine(absl::string_view line);

  // Call when the server has discarded the output before `offset`.
  void SkipTo(uint64_t offset);

  // End a running terminal and return the ids of the waits to answer now. Do
  // nothing if it has ended.
  std::vector<std::string> Exit(ExitStatus exit_status);
  std::vector<std::string> Lose(absl::string_view reason);

  // Returns the ids of the waits, which are then no longer pending.
  std::vector<std::string> TakeWaits() { return std::exchange(waits_, {}); }

  // Adds the id of a request, as written, to answer at the end. The terminal
  // must be running.
  void AddWait(absl::string_view id) { waits_.emplace_back(id); }

  // Removes a wait with this id in any spelling. Returns false if there is
  // none.
  bool RemoveWait(absl::string_view id);

  State state() const { return state_; }
  const ExitStatus& exit_status() const { return exit_status_; }
  // Returns the argument of Lose().
  const std::string& lost_reason() const { return lost_reason_; }

  // The offset of the next byte of output.
  uint64_t cursor() const { return cursor_; }

  absl::string_view output() const { return tail_.text(); }
  bool truncated() const { return tail_.truncated(); }

 private:
  // Makes the only change of state. Call while running.
  std::vector<std::string> End(State state);

  State state_ = State::kRunning;
  ExitStatus exit_status_;
  std::string lost_reason_;
  uint64_t cursor_ = 0;
  Utf8Decoder decoder_;
  TextTail tail_;
  std::vector<std::string> waits_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TERMINAL_H_

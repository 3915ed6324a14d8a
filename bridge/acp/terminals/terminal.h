#ifndef BRIDGE_ACP_TERMINALS_TERMINAL_H_
#define BRIDGE_ACP_TERMINALS_TERMINAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/acp/terminals/text_tail.h"
#include "bridge/acp/terminals/utf8_decoder.h"

namespace bridge {

// What an agent can ask about one terminal: the end of its output as text, how
// the command ended, and who waits for that. Not thread-safe.
class Terminal {
 public:
  enum class State {
    kRunning,
    kExited,  // exit_status() tells how
    kLost,    // it ended or not: the server cannot be asked any more,
              // lost_reason() tells why
  };

  explicit Terminal(size_t output_limit_bytes) : tail_(output_limit_bytes) {}

  // Output from `offset` on. What is before cursor() is known already and
  // skipped; what is missing between cursor() and `offset` marks the output as
  // truncated.
  void Append(uint64_t offset, absl::string_view bytes);

  // The output before `offset` is no longer kept by the server.
  void SkipTo(uint64_t offset);

  // Both do nothing unless the terminal is running, and return the waits that
  // are to be answered now.
  std::vector<std::string> Exit(ExitStatus exit_status);
  std::vector<std::string> Lose(absl::string_view reason);

  // Adds the id of a request, as written, that is to be answered at the end.
  // Only while running.
  void AddWait(absl::string_view id) { waits_.emplace_back(id); }

  // The same id in any spelling. False: nobody waits with that id.
  bool RemoveWait(absl::string_view id);

  State state() const { return state_; }
  const ExitStatus& exit_status() const { return exit_status_; }
  const std::string& lost_reason() const { return lost_reason_; }

  // Where the output that is still to come begins.
  uint64_t cursor() const { return cursor_; }

  absl::string_view output() const { return tail_.text(); }
  bool truncated() const { return tail_.truncated(); }

 private:
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

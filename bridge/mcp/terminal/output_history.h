// The recent output of a terminal, for calls that wait for some of it.

#ifndef BRIDGE_MCP_TERMINAL_OUTPUT_HISTORY_H_
#define BRIDGE_MCP_TERMINAL_OUTPUT_HISTORY_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/mcp/terminal/shell_marks.h"

namespace bridge {

// Thread-safe.
class OutputHistory {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The state of the terminal at one time.
  struct State {
    uint64_t begin = 0;  // of what is kept in `output`
    uint64_t end = 0;
    const std::string& output;
    const std::vector<ShellMark>& marks;
    TimePoint last_output;
    // The shell has ended.
    std::optional<int> exit_code;

    // The output from `offset` on, as far as it is kept.
    absl::string_view Since(uint64_t offset) const;
  };

  void Add(uint64_t offset, absl::string_view output);
  void SetEnd(int exit_code);

  uint64_t end() const;
  // The offset that the output had when something was typed last.
  uint64_t typed_at() const;
  void OnTyped();

  // Blocks until `condition` holds, or until `deadline`; returns true if it
  // holds. Calls the condition whenever the output changes, and several times a
  // second.
  bool Await(TimePoint deadline,
             const std::function<bool(const State&)>& condition);
  // Calls `read` with the state.
  void Look(const std::function<void(const State&)>& read) const;

  // Older output is forgotten; ReadOutput of the server has it.
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr size_t kMaxMarks = 1000;

 private:
  State state() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string output_;
  uint64_t begin_ = 0;
  ShellMarks parser_;
  std::vector<ShellMark> marks_;
  TimePoint last_output_ = std::chrono::steady_clock::now();
  std::optional<int> exit_code_;
  uint64_t typed_at_ = 0;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_OUTPUT_HISTORY_H_

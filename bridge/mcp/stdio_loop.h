// Reads lines of a client until it goes, or until a signal ends the program.

#ifndef BRIDGE_MCP_STDIO_LOOP_H_
#define BRIDGE_MCP_STDIO_LOOP_H_

#include <signal.h>

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// SIGTERM, SIGINT and SIGHUP end corral-mcp. Blocks them in this thread, and so
// in those that it starts, ignores SIGPIPE, and returns the blocked ones.
sigset_t BlockEndingSignals();

// Not thread-safe.
class StdioLoop {
 public:
  enum class End {
    kEndOfInput,
    kSignal,
  };

  // Calls BlockEndingSignals(). Make the object before any thread.
  static absl::StatusOr<StdioLoop> Create(int input);

  // Calls `receive` with each line, without its newline. A line of more than
  // 64 MiB is dropped, and `receive` gets its beginning.
  End Run(const std::function<void(absl::string_view line)>& receive);

  static constexpr size_t kMaxLine = 64 << 20;

 private:
  StdioLoop(int input, sandbox::UniqueFd signals)
      : input_(input), signals_(std::move(signals)) {}

  // Returns false if nothing more comes.
  bool Read(const std::function<void(absl::string_view)>& receive);

  const int input_;
  sandbox::UniqueFd signals_;
  std::string buffer_;
  // True while the rest of the current line is dropped.
  bool skipping_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_STDIO_LOOP_H_

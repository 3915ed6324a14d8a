// Follows the output of one terminal.

#ifndef BRIDGE_MCP_TERMINAL_TERMINAL_OUTPUT_H_
#define BRIDGE_MCP_TERMINAL_TERMINAL_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "bridge/client/connection.h"
#include "bridge/client/output_reader.h"
#include "bridge/mcp/terminal/output_history.h"
#include "bridge/mcp/terminal/output_observer.h"
#include "bridge/mcp/terminal/question_finder.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Reads on a thread of its own until the program has ended. Thread-safe.
class TerminalOutput {
 public:
  // Reads from the offset `begin` on. `answer` is called on the thread when the
  // program may have asked its terminal something. All pointers must outlive
  // this object.
  TerminalOutput(client::Connection* connection, const std::string& execution,
                 uint64_t begin, OutputObserver* observer,
                 std::function<void()> answer);
  ~TerminalOutput();

  // Reports no end from now on.
  void IgnoreEnd() ABSL_LOCKS_EXCLUDED(mutex_);

  // The output that was read so far.
  OutputHistory& history() { return history_; }
  // The output from `offset` on, as far as it is kept: that of history(), and
  // what the observer is being told.
  std::string Since(uint64_t offset) ABSL_LOCKS_EXCLUDED(mutex_);

  // The end of the program. Absent: it runs, as far as is known.
  std::optional<int> exit_code() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();
  // Returns false if nothing comes any more.
  bool Follow();
  void Take(const corral::v1::Chunk& chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  void SetEnd(int exit_code) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string execution_;
  OutputObserver* const observer_;
  const std::function<void()> answer_;
  client::OutputReader reader_;
  QuestionFinder questions_;
  OutputHistory history_;

  sandbox::Mutex mutex_;
  std::optional<int> exit_code_ ABSL_GUARDED_BY(mutex_);
  bool ignores_end_ ABSL_GUARDED_BY(mutex_) = false;
  // Output on its way into history_, or null.
  const corral::v1::Chunk* arriving_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_;
};

// The exit status as shells report it: 128 + n for signal n, and 255 if it is
// not known how the execution ended.
int ExitCodeOf(const corral::v1::Execution& execution);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_TERMINAL_OUTPUT_H_

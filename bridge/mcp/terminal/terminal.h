// One terminal with a shell in a sandbox.

#ifndef BRIDGE_MCP_TERMINAL_TERMINAL_H_
#define BRIDGE_MCP_TERMINAL_TERMINAL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/client/connection.h"
#include "bridge/mcp/terminal/output_history.h"
#include "bridge/mcp/terminal/output_observer.h"
#include "bridge/mcp/terminal/terminal_input.h"
#include "bridge/mcp/terminal/terminal_output.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/screen.pb.h"

namespace bridge {

struct ShellOptions {
  std::string shell;  // the program
  uint32_t columns = 120;
  uint32_t rows = 40;
};

// Thread-safe. Calls block for as long as the server takes to answer; none
// waits for the program in the terminal.
class Terminal {
 public:
  // Starts the shell in `sandbox`, in `directory`, or in the workspace if that
  // is empty. `id` is that of its execution; if it is empty, the server
  // chooses. A shell that cannot be executed is no error here: its terminal has
  // ended. The pointers must outlive the object.
  static absl::StatusOr<std::unique_ptr<Terminal>> Start(
      client::Connection* connection, const std::string& sandbox,
      const std::string& id, const std::string& directory,
      const ShellOptions& options, OutputObserver* observer);
  // Takes over a shell that runs. Questions that it has asked its terminal so
  // far count as answered.
  static absl::StatusOr<std::unique_ptr<Terminal>> Adopt(
      client::Connection* connection, const corral::v1::Execution& execution,
      OutputObserver* observer);
  // Kills everything that runs in the terminal.
  ~Terminal();
  // From now on, the destructor leaves a running shell alone.
  void Leave() { left_ = true; }

  absl::Status Type(absl::string_view bytes);
  // Returns the screen with the whole scrollback, and with the runs of each
  // line if `styles` is true.
  absl::StatusOr<corral::v1::Screen> GetScreen(bool styles);
  // Returns at most `max_bytes` of the output from `offset` on.
  absl::StatusOr<corral::v1::ReadOutputResponse> ReadOutput(uint64_t offset,
                                                            uint32_t max_bytes);
  absl::Status Clear();
  absl::Status Resize(uint32_t columns, uint32_t rows);
  // Sends a signal to the program in the foreground, as Ctrl+C does.
  absl::Status Signal(int number);

  // The output so far.
  OutputHistory& history() { return output_.history(); }
  // The output from `offset` on, as far as it is kept, all that was given to
  // the observer included.
  std::string OutputSince(uint64_t offset) { return output_.Since(offset); }

  // The exit status of the shell; no value while it runs.
  std::optional<int> exit_code() { return output_.exit_code(); }
  const std::string& execution() const { return name_; }

 private:
  // Output before the offset `read_from` is not read. `answered` is the first
  // value of answered_.
  Terminal(client::Connection* connection,
           const corral::v1::Execution& execution, OutputObserver* observer,
           uint64_t read_from, uint64_t answered);

  // Reports to the server that this client answers the program's questions to
  // its terminal, so that no other client does.
  void TakeQuestions();
  // Writes the answers. Called on the thread that reads the output.
  void Answer();

  client::Connection* const connection_;
  const std::string name_;
  OutputObserver* const observer_;
  // The offset up to which questions are answered. Used by Answer() only.
  uint64_t answered_;
  std::atomic<bool> left_{false};
  TerminalInput input_;
  // Declared last, since its thread uses the other members.
  TerminalOutput output_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_TERMINAL_H_

// Carries typed text to the server.

#ifndef BRIDGE_MCP_TERMINAL_TERMINAL_INPUT_H_
#define BRIDGE_MCP_TERMINAL_TERMINAL_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/client/connection.h"
#include "bridge/client/input_writer.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Writes what it is given, in order, on a thread of its own: a program that
// does not read must not stop the caller. Thread-safe.
class TerminalInput {
 public:
  // `connection` must outlive this object. `accepted` is the number of bytes
  // that the terminal has accepted so far.
  TerminalInput(client::Connection* connection, std::string execution_name,
                uint64_t accepted);
  // Drops what is not written yet.
  ~TerminalInput();

  // Fails with ResourceExhausted if more than 16 MiB wait already, and with
  // FailedPrecondition if the program has ended.
  absl::Status Write(absl::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  static constexpr size_t kMaxWaiting = 16 << 20;

 private:
  void Run();

  const std::string name_;
  client::InputWriter writer_;

  sandbox::Mutex mutex_;
  std::string waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_TERMINAL_INPUT_H_

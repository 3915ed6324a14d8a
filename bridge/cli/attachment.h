// This process's input, output, signals and terminal as those of a command.

#ifndef BRIDGE_CLI_ATTACHMENT_H_
#define BRIDGE_CLI_ATTACHMENT_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/cli/detach_keys.h"
#include "bridge/cli/execution_control.h"
#include "bridge/cli/input_forwarder.h"
#include "bridge/cli/output_writer.h"
#include "bridge/cli/replay_guard.h"
#include "bridge/cli/signal_catcher.h"
#include "bridge/cli/terminal.h"
#include "bridge/client/connection.h"
#include "bridge/client/output_reader.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// One exists in a process. While it does, signals of this process go to the
// command, and the terminal is raw.
class Attachment {
 public:
  // Of a command that is started here: its input's end and signals are passed
  // on.
  Attachment(client::Connection& connection,
             const corral::v1::RunExecutionRequest& request,
             DetachKeys detach_keys);
  // Of one that exists, and that others may be attached to as well: input goes
  // to a terminal only, since that of a pipe belongs to who started the
  // command; neither its end nor signals are passed on; signals detach.
  Attachment(client::Connection& connection,
             const corral::v1::StreamOutputRequest& request,
             const corral::v1::Command& command, DetachKeys detach_keys);

  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // The execution as it ended, after all of its output was written. Cancelled:
  // it was detached(), or there is an undelivered_signal().
  absl::StatusOr<corral::v1::Execution> Run();

  // By keys or by a signal.
  bool detached() const { return detached_; }
  // Why output could not be written; a command that was started here was
  // killed then.
  const absl::Status& write_status() const { return write_status_; }
  // Of a signal that could not be passed on; 0: none.
  int undelivered_signal() { return control_.undelivered_signal(); }
  // The full name, once it is known.
  const std::string& name() const { return name_; }

 private:
  absl::StatusOr<corral::v1::Execution> Follow();
  void Acknowledge(const corral::v1::OutputPolicy& policy);
  void OnSignal(int signal);
  void OnEvent(const corral::v1::OutputEvent& event);
  void Open(const corral::v1::Execution& opened);
  void BeginReplay(const corral::v1::Execution& opened);
  void Write(const corral::v1::OutputEvent& event);
  InputForwarder::Passed FilterInput(const std::string& typed);
  void Detach();
  // Ends Run(), also while it writes.
  void Cancel();

  client::Connection& connection_;
  const bool has_terminal_;
  const bool has_input_;
  const bool shared_;
  DetachKeys detach_keys_;
  ReplayGuard replay_guard_;
  // Where the replay ends; empty: it is over.
  std::optional<uint64_t> replay_end_;
  std::string name_;
  absl::Status write_status_;
  std::atomic<bool> detached_ = false;
  // Members end in reverse order: the terminal is restored last.
  std::optional<RawTerminal> raw_terminal_;
  client::OutputReader stream_;
  OutputWriter writer_;
  ExecutionControl control_;
  SignalCatcher catcher_;
  std::unique_ptr<InputForwarder> input_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACHMENT_H_

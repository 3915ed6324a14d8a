#include "bridge/cli/attached_command.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/execution_control.h"
#include "bridge/cli/exit_report.h"
#include "bridge/cli/input_forwarder.h"
#include "bridge/cli/output_writer.h"
#include "bridge/cli/signal_catcher.h"
#include "bridge/cli/signal_name.h"
#include "bridge/cli/terminal.h"
#include "bridge/client/output_stream.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;

constexpr uint64_t kAcknowledgeBytes = 4 << 20;

// What belongs together while the command runs. Members end in reverse order:
// the terminal is restored last.
class Attachment {
 public:
  Attachment(client::Connection& connection,
             const corral::v1::RunExecutionRequest& request)
      : connection_(connection),
        has_terminal_(request.command().has_terminal()),
        has_input_(request.command().stdin() || has_terminal_),
        stream_(connection, request),
        control_(connection, [this] { stream_.Cancel(); }),
        catcher_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH},
                 [this](int signal) { control_.Forward(signal); }) {
    stream_.AcknowledgeEvery(kAcknowledgeBytes);
    if (has_terminal_) {
      raw_terminal_.emplace();
    }
  }

  // The execution as it ended, after all of its output was written.
  absl::StatusOr<Execution> Run() {
    for (;;) {
      ASSIGN_OR_RETURN(const std::optional<OutputEvent> event, stream_.Next());
      if (!event.has_value()) {
        return absl::InternalError("the stream ended before the command");
      }
      if (event->has_ended()) {
        return event->ended();
      }
      if (event->has_opened()) {
        Open(event->opened());
      } else if (event->has_chunk() && write_status_.ok()) {
        write_status_ = WriteChunk(event->chunk());
        if (!write_status_.ok()) {
          control_.Kill();
        }
      }
    }
  }

  // Why output could not be written; the command was killed then.
  const absl::Status& write_status() const { return write_status_; }

  // Of a signal that could not be passed on, which ended Run(); 0: none.
  int undelivered_signal() { return control_.undelivered_signal(); }
  bool opened() const { return opened_; }
  bool resumed() const { return stream_.resumed(); }

 private:
  void Open(const Execution& opened) {
    opened_ = true;
    control_.SetExecution(opened.name());
    if (has_input_ && opened.state() == Execution::RUNNING) {
      input_ = std::make_unique<InputForwarder>(connection_, opened.name(),
                                                has_terminal_);
    }
  }

  client::Connection& connection_;
  const bool has_terminal_;
  const bool has_input_;
  bool opened_ = false;
  absl::Status write_status_;
  std::optional<RawTerminal> raw_terminal_;
  client::OutputStream stream_;
  ExecutionControl control_;
  SignalCatcher catcher_;
  std::unique_ptr<InputForwarder> input_;
};

// The server keeps a sandbox for one command for a while if the stream that
// asked for it was cut; nobody will ask for it again.
void DeleteOwnSandbox(client::Connection& connection,
                      const std::string& execution_name) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(client::SandboxOf(execution_name));
  grpc::ClientContext context;
  google::protobuf::Empty empty;
  connection.sandboxes().DeleteSandbox(&context, request, &empty);
}

// How the attachment ended; the terminal is as it was again.
struct Outcome {
  absl::StatusOr<Execution> ended;
  absl::Status write_status;
  int undelivered_signal;
  bool opened;
  bool resumed;
};

Outcome Attach(client::Connection& connection,
               const corral::v1::RunExecutionRequest& request) {
  Attachment attachment(connection, request);
  absl::StatusOr<Execution> ended = attachment.Run();
  return {std::move(ended), attachment.write_status(),
          attachment.undelivered_signal(), attachment.opened(),
          attachment.resumed()};
}

// Of a command whose end was not seen.
absl::StatusOr<int> ReportLoss(const Outcome& outcome) {
  if (!absl::IsCancelled(outcome.ended.status()) ||
      outcome.undelivered_signal == 0) {
    return outcome.ended.status();
  }
  if (!outcome.opened) {
    return 128 + outcome.undelivered_signal;
  }
  return absl::UnavailableError(absl::StrCat(
      SignalName(outcome.undelivered_signal),
      " could not be passed on, the server does not answer; the command may "
      "still run"));
}

}  // namespace

absl::StatusOr<int> RunAttached(
    client::Connection& connection,
    const corral::v1::RunExecutionRequest& request) {
  const Outcome outcome = Attach(connection, request);
  if (!outcome.ended.ok()) {
    return ReportLoss(outcome);
  }
  if (outcome.resumed && !absl::StrContains(request.parent(), "/sandboxes/")) {
    DeleteOwnSandbox(connection, outcome.ended->name());
  }
  if (absl::IsAborted(outcome.write_status)) {
    return kBrokenPipe;
  }
  RETURN_IF_ERROR(outcome.write_status);
  const std::string explanation = ExplainEnd(*outcome.ended);
  if (!explanation.empty()) {
    // Nothing can be done about a standard error that fails.
    WriteAll(STDERR_FILENO, absl::StrCat("corral: ", explanation, "\n"))
        .IgnoreError();
  }
  return ExitCode(*outcome.ended);
}

}  // namespace bridge

#include "bridge/cli/attach/attached_command.h"

#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/cli/attach/attachment.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/cli/report/exit_report.h"
#include "bridge/cli/report/trace_report.h"
#include "bridge/client/call.h"
#include "bridge/client/resource_name.h"
#include "bridge/client/retry.h"
#include "bridge/options/signal_name.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;

// Undoes what a command may have set in the terminal: attributes, the other
// screen, a hidden cursor, keypad modes, mouse reports and bracketed paste. As
// in xterm's ctlseqs.
constexpr char kResetTerminal[] =
    "\x1b[0m\x1b[?1049l\x1b[?25h\x1b[?1l\x1b>"
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l";

// Limit for calls after the end: for deleting what `run` or `exec` made, and
// for a trace. The server deletes what is left then: a sandbox for one command
// a minute after its last reader left, an execution by its retention.
constexpr absl::Duration kEndPatience = absl::Seconds(5);

// How the attachment ended. The terminal has been restored by then.
struct Outcome {
  absl::StatusOr<Execution> ended;
  absl::Status write_status;
  int undelivered_signal;
  bool detached;
  std::string name;
  // When it ended, by the monotonic clock.
  int64_t over_ns;
};

Outcome Conclude(Attachment& attachment) {
  absl::StatusOr<Execution> ended = attachment.Run();
  const int64_t over_ns = sandbox::MonotonicNanoseconds();
  return {std::move(ended),
          attachment.write_status(),
          attachment.undelivered_signal(),
          attachment.detached(),
          attachment.name(),
          over_ns};
}

bool OwnsSandbox(const corral::v1::RunExecutionRequest& request) {
  return !absl::StrContains(request.parent(), "/sandboxes/");
}

void DeleteOwn(client::Connection& connection,
               const corral::v1::RunExecutionRequest& request,
               const std::string& execution_name) {
  client::CallOptions options;
  options.patience = kEndPatience;
  std::string name = execution_name;
  absl::Status deleted;
  if (OwnsSandbox(request)) {
    name = client::SandboxOf(execution_name);
    corral::v1::DeleteSandboxRequest deletion;
    deletion.set_name(name);
    deleted = client::Delete(
        connection, &corral::v1::SandboxService::StubInterface::DeleteSandbox,
        deletion, options);
  } else {
    corral::v1::DeleteExecutionRequest deletion;
    deletion.set_name(name);
    deleted = client::Delete(
        connection,
        &corral::v1::ExecutionService::StubInterface::DeleteExecution, deletion,
        options);
  }
  if (!deleted.ok() && !absl::IsNotFound(deleted)) {
    Say(absl::StrCat(client::ShortName(name),
                     " could not be deleted; the server will delete it later: ",
                     deleted.message()));
  }
}

// Deletes what the request made. The caller has reported the end by then; the
// server cannot know that it has arrived here.
void CleanUp(client::Connection& connection,
             const corral::v1::RunExecutionRequest& request,
             const Outcome& outcome) {
  const std::string& name = outcome.ended->name();
  if (outcome.write_status.ok() || absl::IsAborted(outcome.write_status) ||
      OwnsSandbox(request)) {
    DeleteOwn(connection, request, name);
    return;
  }
  Say(absl::StrCat("the output is kept: corral logs ",
                   client::ShortName(name)));
}

int LeaveRunning(const std::string& name, bool has_terminal) {
  if (has_terminal && ::isatty(STDOUT_FILENO) == 1) {
    WriteAll(STDOUT_FILENO, absl::StrCat(kResetTerminal, "\r\n")).IgnoreError();
  }
  const std::string short_name = client::ShortName(name);
  Say(absl::StrCat("detached from ", short_name,
                   ", which goes on; corral attach ", short_name,
                   " comes back to it"));
  return 0;
}

// Returns the exit status of a command whose end did not arrive, or the error.
absl::StatusOr<int> ReportLoss(const Outcome& outcome) {
  if (!absl::IsCancelled(outcome.ended.status()) ||
      outcome.undelivered_signal == 0) {
    return outcome.ended.status();
  }
  if (outcome.name.empty()) {
    return 128 + outcome.undelivered_signal;
  }
  return absl::UnavailableError(absl::StrCat(
      SignalName(outcome.undelivered_signal),
      " could not be passed on: the server does not answer, so that the "
      "command may still run, or the command has ended and the end of its "
      "output cannot be written"));
}

absl::StatusOr<int> Report(const Outcome& outcome) {
  if (!outcome.ended.ok()) {
    return ReportLoss(outcome);
  }
  if (absl::IsAborted(outcome.write_status)) {
    return kBrokenPipe;
  }
  RETURN_IF_ERROR(outcome.write_status);
  const std::string explanation = ExplainEnd(*outcome.ended);
  if (!explanation.empty()) {
    Say(explanation);
  }
  return ExitCode(*outcome.ended);
}

// Returns where the time of the creation of the sandbox went; nothing if the
// server does not say.
std::string DescribeCreation(client::Connection& connection,
                             const std::string& execution_name) {
  corral::v1::GetSandboxRequest request;
  request.set_name(client::SandboxOf(execution_name));
  client::CallOptions options;
  options.patience = kEndPatience;
  const absl::StatusOr<corral::v1::Sandbox> sandbox = client::Call(
      connection, &corral::v1::SandboxService::StubInterface::GetSandbox,
      request, options);
  return sandbox.ok() ? CreationTable(*sandbox) : "";
}

// Prints where the time went since `begin`, if the request asked for it.
void ReportTrace(client::Connection& connection,
                 const corral::v1::RunExecutionRequest& request,
                 const Outcome& outcome, const sandbox::Instant& begin) {
  if (!request.command().trace()) {
    return;
  }
  const std::string creation =
      OwnsSandbox(request) ? DescribeCreation(connection, outcome.ended->name())
                           : "";
  const std::string stages =
      StageTable(outcome.ended->trace(),
                 {begin.unix_ns, outcome.over_ns - begin.monotonic_ns});
  WriteAll(STDERR_FILENO, absl::StrCat(creation, stages)).IgnoreError();
}

// Asks for all bytes from `from` on: the server reports those that are not kept
// as gaps. Expired output cannot be asked for.
corral::v1::StreamOutputRequest FromTheBeginning(const Execution& execution,
                                                 uint64_t from) {
  corral::v1::StreamOutputRequest request;
  request.set_name(execution.name());
  uint64_t expired_bytes = 0;
  for (const corral::v1::StreamState& state : execution.streams()) {
    corral::v1::StreamCursor* cursor = request.add_cursors();
    cursor->set_stream(state.stream());
    cursor->set_offset(state.expired() ? state.end_offset() : from);
    expired_bytes += state.expired() ? state.end_offset() : 0;
  }
  if (expired_bytes > 0) {
    Say("its output has expired");
  }
  return request;
}

// Asks the server who answers the questions of the command. An older server
// does not know; then our terminal answers.
Attachment::Questions QuestionsOf(client::Connection& connection,
                                  const Execution& execution) {
  if (!execution.command().has_terminal() ||
      execution.state() != Execution::RUNNING) {
    return Attachment::Questions::kShown;
  }
  corral::v1::GetScreenRequest request;
  request.set_name(execution.name());
  const absl::StatusOr<corral::v1::GetScreenResponse> screen = client::Call(
      connection, &corral::v1::ScreenService::StubInterface::GetScreen,
      request);
  return screen.ok() && screen->answered_by_client()
             ? Attachment::Questions::kAnsweredElsewhere
             : Attachment::Questions::kShown;
}

}  // namespace

absl::StatusOr<int> RunAttached(
    client::Connection& connection,
    const corral::v1::RunExecutionRequest& request,
    const DetachKeys& detach_keys,
    std::function<void(const std::string&)> opened) {
  const sandbox::Instant begin = sandbox::Instant::Now();
  const Outcome outcome = [&] {
    Attachment attachment(connection, request, detach_keys);
    attachment.OnOpened(std::move(opened));
    return Conclude(attachment);
  }();
  if (!outcome.ended.ok() && outcome.detached) {
    return LeaveRunning(outcome.name, request.command().has_terminal());
  }
  const absl::StatusOr<int> code = Report(outcome);
  if (outcome.ended.ok()) {
    ReportTrace(connection, request, outcome, begin);
    CleanUp(connection, request, outcome);
  }
  return code;
}

absl::StatusOr<int> AttachTo(client::Connection& connection,
                             const std::string& name,
                             std::optional<uint64_t> from,
                             const DetachKeys& detach_keys) {
  corral::v1::GetExecutionRequest get;
  get.set_name(name);
  ASSIGN_OR_RETURN(
      const Execution execution,
      client::Call(connection,
                   &corral::v1::ExecutionService::StubInterface::GetExecution,
                   get));
  if (from.has_value() && execution.streams_size() > 1) {
    return absl::InvalidArgumentError(
        "--from counts the bytes of one stream, but this command has two: use "
        "corral logs --stdout or --stderr");
  }
  const corral::v1::StreamOutputRequest request =
      FromTheBeginning(execution, from.value_or(0));
  const Outcome outcome = [&] {
    Attachment attachment(connection, request, execution.command(),
                          QuestionsOf(connection, execution), detach_keys);
    return Conclude(attachment);
  }();
  if (!outcome.ended.ok() && outcome.detached) {
    return LeaveRunning(name, execution.command().has_terminal());
  }
  return Report(outcome);
}

}  // namespace bridge

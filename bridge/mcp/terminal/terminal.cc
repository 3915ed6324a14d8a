#include "bridge/mcp/terminal/terminal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/mcp/terminal/shell_marks.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using Executions = corral::v1::ExecutionService::StubInterface;
using Screens = corral::v1::ScreenService::StubInterface;

constexpr uint32_t kScrollbackLines = 1000;
constexpr std::chrono::seconds kLongestAdoption(10);

void AddVariable(const char* name, const char* value,
                 corral::v1::Command* command) {
  corral::v1::EnvironmentVariable* variable = command->add_environment();
  variable->set_name(name);
  variable->set_value(value);
}

corral::v1::Command ToCommand(const std::string& directory,
                              const ShellOptions& options) {
  corral::v1::Command command;
  command.add_argv(options.shell);
  command.set_working_directory(directory);
  command.mutable_terminal()->set_columns(options.columns);
  command.mutable_terminal()->set_rows(options.rows);
  AddVariable("TERM", "xterm-256color", &command);
  // Shows programs that an agent uses the terminal, as terminal-mcp does.
  AddVariable("TERMINAL_MCP", "1", &command);
  // bash then reports where commands begin and end; other shells ignore it.
  AddVariable("PROMPT_COMMAND", kPromptCommand, &command);
  AddVariable("PS0", kBeforeCommand, &command);
  return command;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Terminal>> Terminal::Start(
    client::Connection* connection, const std::string& sandbox,
    const std::string& id, const std::string& directory,
    const ShellOptions& options, OutputObserver* observer) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  request.set_execution_id(id);
  request.set_request_id(client::NewRequestId());
  *request.mutable_command() = ToCommand(directory, options);
  ASSIGN_OR_RETURN(
      const corral::v1::Execution started,
      client::Call(*connection, &Executions::StartExecution, request));
  std::unique_ptr<Terminal> terminal(
      new Terminal(connection, started, observer, 0, 0));
  terminal->TakeQuestions();
  return terminal;
}

absl::StatusOr<std::unique_ptr<Terminal>> Terminal::Adopt(
    client::Connection* connection, const corral::v1::Execution& execution,
    OutputObserver* observer) {
  uint64_t end = 0;
  for (const corral::v1::StreamState& stream : execution.streams()) {
    end = std::max(end, stream.end_offset());
  }
  constexpr uint64_t kRead = OutputHistory::kMaxBytes;
  std::unique_ptr<Terminal> terminal(new Terminal(
      connection, execution, observer, end > kRead ? end - kRead : 0, end));
  terminal->TakeQuestions();
  // Output that is older than this call must not look like something new.
  if (!terminal->history().Await(
          std::chrono::steady_clock::now() + kLongestAdoption,
          [end](const OutputHistory::State& state) {
            return state.end >= end || state.exit_code.has_value();
          })) {
    terminal->Leave();
    return absl::UnavailableError(
        absl::StrCat("the output of ", execution.name(), " does not come"));
  }
  return terminal;
}

Terminal::Terminal(client::Connection* connection,
                   const corral::v1::Execution& execution,
                   OutputObserver* observer, uint64_t read_from,
                   uint64_t answered)
    : connection_(connection),
      name_(execution.name()),
      observer_(observer),
      answered_(answered),
      input_(connection, name_, execution.input().accepted_offset()),
      output_(connection, name_, read_from, observer, [this] { Answer(); }) {}

Terminal::~Terminal() {
  if (left_) {
    return;
  }
  output_.IgnoreEnd();
  corral::v1::DeleteExecutionRequest request;
  request.set_name(name_);
  client::CallOptions options;
  // The end of a session does not wait for a server that is gone; the sandbox's
  // idle timeout removes what is left.
  options.patience = absl::Seconds(1);
  const absl::Status deleted = client::Delete(
      *connection_, &Executions::DeleteExecution, request, options);
  if (!deleted.ok() && !absl::IsNotFound(deleted)) {
    LOG(WARNING) << "cannot delete " << name_ << ": " << deleted;
  }
}

absl::Status Terminal::Type(absl::string_view bytes) {
  output_.history().OnTyped();
  return input_.Write(bytes);
}

absl::StatusOr<corral::v1::Screen> Terminal::GetScreen(bool styles) {
  corral::v1::GetScreenRequest request;
  request.set_name(name_);
  request.set_scrollback_lines(kScrollbackLines);
  request.set_styles(styles);
  ASSIGN_OR_RETURN(corral::v1::GetScreenResponse response,
                   client::Call(*connection_, &Screens::GetScreen, request));
  return std::move(*response.mutable_screen());
}

absl::StatusOr<corral::v1::ReadOutputResponse> Terminal::ReadOutput(
    uint64_t offset, uint32_t max_bytes) {
  corral::v1::ReadOutputRequest request;
  request.set_name(name_);
  request.set_stream(corral::v1::TERMINAL);
  request.set_offset(offset);
  request.set_max_bytes(max_bytes);
  return client::Call(*connection_, &Executions::ReadOutput, request);
}

absl::Status Terminal::Clear() {
  corral::v1::ClearScreenRequest request;
  request.set_name(name_);
  return client::Call(*connection_, &Screens::ClearScreen, request).status();
}

absl::Status Terminal::Resize(uint32_t columns, uint32_t rows) {
  corral::v1::ResizeTerminalRequest request;
  request.set_name(name_);
  request.mutable_size()->set_columns(columns);
  request.mutable_size()->set_rows(rows);
  RETURN_IF_ERROR(
      client::Call(*connection_, &Executions::ResizeTerminal, request)
          .status());
  observer_->OnResize(columns, rows);
  return absl::OkStatus();
}

absl::Status Terminal::Signal(int number) {
  corral::v1::SignalExecutionRequest request;
  request.set_name(name_);
  request.set_signal(number);
  request.set_scope(corral::v1::SignalExecutionRequest::FOREGROUND_GROUP);
  return client::CallOnce(*connection_, &Executions::SignalExecution, request)
      .status();
}

void Terminal::TakeQuestions() {
  corral::v1::GetScreenRequest request;
  request.set_name(name_);
  request.set_answers_from(UINT64_MAX);
  // Fails if the terminal is too large for a screen; then nobody answers.
  (void)client::Call(*connection_, &Screens::GetScreen, request);
}

void Terminal::Answer() {
  corral::v1::GetScreenRequest request;
  request.set_name(name_);
  request.set_answers_from(answered_);
  const absl::StatusOr<corral::v1::GetScreenResponse> response =
      client::Call(*connection_, &Screens::GetScreen, request);
  if (!response.ok()) {
    LOG(WARNING) << "cannot answer what the program asks its terminal: "
                 << response.status();
    return;
  }
  answered_ = response->screen().end_offset();
  if (!response->answers().empty()) {
    // Fails only if the program does not read, or has ended.
    (void)input_.Write(response->answers());
  }
}

}  // namespace bridge

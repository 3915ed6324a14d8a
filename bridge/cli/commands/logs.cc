#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/cli/commands/log_tail.h"
#include "bridge/cli/commands/network_log.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/exit_report.h"
#include "bridge/client/call.h"
#include "bridge/client/output_reader.h"
#include "bridge/client/resource_name.h"
#include "bridge/options/quantity.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;
using corral::v1::Stream;

struct LogsOptions {
  bool follow = false;
  bool timestamps = false;
  bool only_stdout = false;
  bool only_stderr = false;
  std::optional<uint64_t> from;
  std::optional<uint64_t> tail;
  bool network = false;
  bool json = false;
};

void AddTo(OptionTable& table, LogsOptions& options) {
  table.Flag('f', "follow", "Go on until the command has ended.",
             options.follow);
  table.Value('n', "tail", "LINES",
              "Only the last lines of each stream; all: all that is kept\n"
              "(default).",
              [&options](absl::string_view value) -> absl::Status {
                if (value == "all") {
                  options.tail.reset();
                  return absl::OkStatus();
                }
                const absl::StatusOr<uint64_t> lines = ParseCount(value);
                if (!lines.ok()) {
                  return absl::InvalidArgumentError(
                      "allowed is a number of lines, or all");
                }
                options.tail = *lines;
                return absl::OkStatus();
              });
  table.Value(0, "from", "OFFSET",
              "Begin at this byte of the stream, counted from 0. Default:\n"
              "the oldest byte that is kept.",
              [&options](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(options.from, ParseCount(value));
                return absl::OkStatus();
              });
  table.Flag('t', "timestamps",
             "Is refused: output is kept as the command wrote it, without\n"
             "times. Let the command add them: corral exec SANDBOX -- sh -c\n"
             "'make 2>&1 | ts'.",
             options.timestamps);
  table.Flag(0, "stdout", "Only standard output.", options.only_stdout);
  table.Flag(0, "stderr", "Only standard error.", options.only_stderr);
  table.Flag(0, "network",
             "Print what programs in the sandbox wanted of the network, in\n"
             "place of output: names and connections that were refused, and\n"
             "connections that ended. Takes the name of a sandbox.",
             options.network);
  table.Flag(0, "json", "With --network: print each NetworkEvent as JSON.",
             options.json);
}

absl::Status Check(const LogsOptions& options) {
  if (options.timestamps) {
    return UsageError(
        "--timestamps: output is kept as the command wrote it, without times; "
        "let the command add them, for example with ts");
  }
  if (options.only_stdout && options.only_stderr) {
    return UsageError("--stdout and --stderr exclude each other");
  }
  if (options.from.has_value() && options.tail.has_value()) {
    return UsageError("--from and --tail exclude each other");
  }
  const bool for_output = options.only_stdout || options.only_stderr ||
                          options.from.has_value() || options.tail.has_value();
  if (options.network ? for_output : options.json) {
    return UsageError("--network allows only --follow and --json");
  }
  return absl::OkStatus();
}

bool IsWanted(Stream stream, const LogsOptions& options) {
  return stream == corral::v1::STDERR ? !options.only_stdout
                                      : !options.only_stderr;
}

absl::Status CheckKept(const corral::v1::StreamState& state,
                       const std::string& name) {
  if (!state.expired() || state.end_offset() == 0) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(
      absl::StrCat("the output of ", client::ShortName(name),
                   " has expired: all ", state.end_offset(), " bytes of it"));
}

absl::StatusOr<Execution> GetExecution(client::Connection& connection,
                                       const std::string& name) {
  corral::v1::GetExecutionRequest request;
  request.set_name(name);
  return client::Call(
      connection, &corral::v1::ExecutionService::StubInterface::GetExecution,
      request);
}

absl::StatusOr<uint64_t> FirstOffset(client::Connection& connection,
                                     const std::string& name,
                                     const corral::v1::StreamState& state,
                                     const LogsOptions& options) {
  if (options.tail.has_value()) {
    return FindTail(connection, name, state, *options.tail);
  }
  // Bytes below the oldest one that is kept are reported as a gap.
  return options.from.value_or(0);
}

absl::StatusOr<corral::v1::StreamOutputRequest> BuildRequest(
    client::Connection& connection, const Execution& execution,
    const LogsOptions& options) {
  const std::string& name = execution.name();
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  request.set_no_follow(!options.follow);
  for (const corral::v1::StreamState& state : execution.streams()) {
    if (IsWanted(state.stream(), options)) {
      RETURN_IF_ERROR(CheckKept(state, name));
      ASSIGN_OR_RETURN(const uint64_t offset,
                       FirstOffset(connection, name, state, options));
      corral::v1::StreamCursor* cursor = request.add_cursors();
      cursor->set_stream(state.stream());
      cursor->set_offset(offset);
    }
  }
  if (request.cursors().empty() && execution.streams_size() > 0) {
    return absl::NotFoundError(
        absl::StrCat(client::ShortName(name), " has no separate ",
                     options.only_stderr ? "standard error" : "output"));
  }
  if (options.from.has_value() && request.cursors_size() > 1) {
    return UsageError(
        "--from counts the bytes of one stream: add --stdout or --stderr");
  }
  return request;
}

bool HasEnded(const Execution& execution) {
  return execution.state() != Execution::STARTING &&
         execution.state() != Execution::RUNNING;
}

// Returns the exit status of `corral logs`, and explains the end of a command
// that did not exit: the output of one that did is enough.
int ReportEnd(const Execution& execution) {
  if (execution.state() == Execution::EXITED) {
    return 0;
  }
  Say(ExplainEnd(execution));
  return ExitCode(execution);
}

absl::StatusOr<int> PrintAll(client::OutputReader& reader) {
  OutputWriter writer;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<OutputEvent> event, reader.Next());
    if (!event.has_value() || event->has_ended()) {
      RETURN_IF_ERROR(writer.Finish());
      return event.has_value() ? ReportEnd(event->ended()) : 0;
    }
    // Fails with Aborted if nobody reads; main() has the exit status for that.
    RETURN_IF_ERROR(writer.Write(*event, absl::Now()));
  }
}

absl::StatusOr<int> PrintOutput(const Invocation& invocation,
                                const std::string& name,
                                const LogsOptions& options) {
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(const Execution execution, GetExecution(*connection, name));
  ASSIGN_OR_RETURN(const corral::v1::StreamOutputRequest request,
                   BuildRequest(*connection, execution, options));
  if (request.cursors().empty() && HasEnded(execution)) {
    return ReportEnd(execution);  // it never had output
  }
  client::OutputReader reader(*connection, request);
  return PrintAll(reader);
}

}  // namespace

absl::StatusOr<int> Logs(Invocation invocation) {
  OptionTable table(
      "corral logs", "[OPTIONS] EXECUTION | --network SANDBOX",
      "Prints the output of an execution: standard error to standard error,\n"
      "everything else to standard output. EXECUTION is SANDBOX/EXECUTION, as\n"
      "corral ps lists it. The exit status is 0; if the command never began, "
      "or\n"
      "its end is not known, it is that of corral wait.");
  LogsOptions options;
  AddTo(table, options);
  table.TakePositionals(1, 1);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  RETURN_IF_ERROR(Check(options));
  const std::string& word = arguments.positionals[0];
  if (options.network) {
    ASSIGN_OR_RETURN(const std::string sandbox, SandboxArgument(word));
    return PrintNetworkLog(invocation, sandbox, {options.follow, options.json});
  }
  ASSIGN_OR_RETURN(const std::string name, ExecutionArgument(word));
  return PrintOutput(invocation, name, options);
}

}  // namespace bridge

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bridge/cli/exit_report.h"
#include "bridge/cli/output_writer.h"
#include "bridge/cli/subcommand.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr absl::Duration kReconnectTimeout = absl::Seconds(30);

// Goes on waiting when the server is restarted.
absl::StatusOr<corral::v1::Execution> AwaitEnd(client::Connection& connection,
                                               const std::string& name) {
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  for (;;) {
    grpc::ClientContext context;
    corral::v1::Execution execution;
    const grpc::Status status =
        connection.executions().WaitExecution(&context, request, &execution);
    const bool lost = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                      status.error_code() == grpc::StatusCode::CANCELLED;
    if (lost && connection.Reconnect(absl::Now() + kReconnectTimeout)) {
      continue;
    }
    RETURN_IF_ERROR(client::ToStatus(status));
    return execution;
  }
}

}  // namespace

absl::StatusOr<int> Wait(Invocation invocation) {
  OptionTable table("wait", "[OPTIONS] EXECUTION",
                    "Waits for the end of an execution. The exit status is the "
                    "command's, as with\ncorral run.");
  bool json = false;
  table.Flag(0, "json",
             "Print the Execution as JSON. Fields of type bytes are base64.",
             json);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  if (arguments.positionals.size() != 1) {
    return UsageError("corral wait takes one EXECUTION");
  }
  const absl::StatusOr<std::string> name =
      client::ExecutionName(arguments.positionals[0]);
  if (!name.ok()) {
    return UsageError(name.status().message());
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(const corral::v1::Execution execution,
                   AwaitEnd(*connection, *name));
  if (json) {
    ASSIGN_OR_RETURN(const std::string text, ToJson(execution));
    RETURN_IF_ERROR(Print(absl::StrCat(text, "\n")).status());
  } else if (const std::string text = ExplainEnd(execution); !text.empty()) {
    RETURN_IF_ERROR(
        WriteAll(STDERR_FILENO, absl::StrCat("corral: ", text, "\n")));
  }
  return ExitCode(execution);
}

}  // namespace bridge

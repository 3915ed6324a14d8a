#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/cli/commands/listing.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/client/resource_name.h"
#include "bridge/options/quantity.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;

bool HasEnded(const Execution& execution) {
  return execution.state() != Execution::STARTING &&
         execution.state() != Execution::RUNNING;
}

// The end of a LOST execution is not known; its creation counts instead.
absl::Time EndTime(const Execution& execution) {
  const google::protobuf::Timestamp& time =
      execution.has_end_time() ? execution.end_time() : execution.create_time();
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

absl::Status Delete(client::Connection& connection, const std::string& name) {
  corral::v1::DeleteExecutionRequest request;
  request.set_name(name);
  const absl::Status status = client::Delete(
      connection, &corral::v1::ExecutionService::StubInterface::DeleteExecution,
      request);
  // The server may have deleted it meanwhile, by its retention.
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<int> PruneAll(client::Connection& connection,
                             const std::string& parent, absl::Time ended_before,
                             bool dry_run) {
  ASSIGN_OR_RETURN(const std::vector<Execution> executions,
                   ListExecutions(connection, parent));
  absl::Status first_error;
  for (const Execution& execution : executions) {
    if (!HasEnded(execution) || EndTime(execution) > ended_before) {
      continue;
    }
    const absl::Status status =
        dry_run ? absl::OkStatus() : Delete(connection, execution.name());
    first_error.Update(status);
    if (status.ok()) {
      RETURN_IF_ERROR(
          Print(absl::StrCat(client::ShortName(execution.name()), "\n"))
              .status());
    }
  }
  RETURN_IF_ERROR(first_error);
  return 0;
}

}  // namespace

absl::StatusOr<int> Prune(Invocation invocation) {
  OptionTable table(
      "corral prune", "[OPTIONS] [SANDBOX]",
      "Deletes executions that have ended, with their output: those of one\n"
      "sandbox, or of all. Prints their names. Running commands stay.");
  absl::Duration age = absl::ZeroDuration();
  bool dry_run = false;
  table.Value(0, "older-than", "AGE",
              "Only executions that ended longer ago than this: 1h, 7d.",
              [&age](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(age, ParseDuration(value));
                return absl::OkStatus();
              });
  table.Flag('n', "dry-run", "Delete nothing; print the names only.", dry_run);
  table.TakePositionals(0, 1);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  std::string parent = client::kAllSandboxes;
  if (!arguments.positionals.empty()) {
    ASSIGN_OR_RETURN(parent, SandboxArgument(arguments.positionals[0]));
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  return PruneAll(*connection, parent, absl::Now() - age, dry_run);
}

}  // namespace bridge

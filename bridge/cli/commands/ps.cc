#include <unistd.h>

#include <unordered_map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/cli/attach/terminal.h"
#include "bridge/cli/commands/listing.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/exit_report.h"
#include "bridge/cli/report/json_output.h"
#include "bridge/cli/report/text_table.h"
#include "bridge/client/resource_name.h"
#include "bridge/options/quantity.h"
#include "bridge/options/server_options.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::Sandbox;
using Rows = std::vector<std::vector<std::string>>;

std::string Age(const google::protobuf::Timestamp& since) {
  return FormatAge(absl::Now() - absl::FromUnixSeconds(since.seconds()));
}

std::vector<std::string> Row(const Sandbox& sandbox) {
  return {
      client::ShortName(sandbox.name()),
      absl::AsciiStrToLower(Sandbox::State_Name(sandbox.state())),
      Age(sandbox.create_time()),
      sandbox.has_workspace()
          ? absl::StrCat("[", sandbox.workspace().path(),
                         sandbox.workspace().read_only() ? ", read-only]" : "]")
          : "[no workspace]"};
}

std::vector<std::string> Row(const Execution& execution) {
  return {client::ShortName(execution.name()), StateText(execution),
          Age(execution.create_time()),
          absl::StrJoin(execution.command().argv(), " ")};
}

// Puts the executions of each sandbox below it. The two lists cannot be merged
// in one pass, because the names sort differently: "s" < "s-1", but
// "s-1/executions/e" < "s/executions/e".
Rows Join(const std::vector<Sandbox>& sandboxes,
          const std::vector<Execution>& executions) {
  std::unordered_map<std::string, std::vector<const Execution*>> by_sandbox;
  for (const Execution& execution : executions) {
    by_sandbox[client::SandboxOf(execution.name())].push_back(&execution);
  }
  Rows rows;
  for (const Sandbox& sandbox : sandboxes) {
    rows.push_back(Row(sandbox));
    for (const Execution* execution : by_sandbox[sandbox.name()]) {
      rows.push_back(Row(*execution));
    }
  }
  return rows;
}

std::string Table(Rows rows) {
  rows.insert(rows.begin(), {"NAME", "STATE", "AGE", "COMMAND"});
  const bool cut = ::isatty(STDOUT_FILENO) == 1;
  return FormatTable(rows, cut ? GetTerminalSize().columns() : 0);
}

std::string Names(const Rows& rows) {
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    absl::StrAppend(&text, row[0], "\n");
  }
  return text;
}

absl::StatusOr<int> PrintJson(const std::vector<Sandbox>& sandboxes,
                              const std::vector<Execution>& executions) {
  corral::v1::ListSandboxesResponse all_sandboxes;
  *all_sandboxes.mutable_sandboxes() = {sandboxes.begin(), sandboxes.end()};
  corral::v1::ListExecutionsResponse all_executions;
  *all_executions.mutable_executions() = {executions.begin(), executions.end()};
  ASSIGN_OR_RETURN(const std::string sandbox_list, ToJsonArray(all_sandboxes));
  ASSIGN_OR_RETURN(const std::string execution_list,
                   ToJsonArray(all_executions));
  return Print(absl::StrCat("{\"sandboxes\":", sandbox_list,
                            ",\"executions\":", execution_list, "}\n"));
}

}  // namespace

absl::StatusOr<int> Ps(Invocation invocation) {
  OptionTable table("corral ps", "[OPTIONS]",
                    "Lists sandboxes and their executions, including those "
                    "that have ended.");
  bool all = false;
  bool quiet = false;
  bool json = false;
  table.Flag('a', "all", "Has no effect: all are always listed.", all);
  table.Flag('q', "quiet", "Print the names only.", quiet);
  table.Flag(0, "json",
             absl::StrCat("Print {\"sandboxes\": [Sandbox...], "
                          "\"executions\":\n[Execution...]}.\n",
                          kJsonHelp),
             json);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  if (quiet && json) {
    return UsageError("--quiet and --json exclude each other");
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(const std::vector<Sandbox> sandboxes,
                   ListSandboxes(*connection));
  ASSIGN_OR_RETURN(const std::vector<Execution> executions,
                   ListExecutions(*connection, client::kAllSandboxes));
  if (json) {
    return PrintJson(sandboxes, executions);
  }
  Rows rows = Join(sandboxes, executions);
  return Print(quiet ? Names(rows) : Table(std::move(rows)));
}

}  // namespace bridge

#include <unistd.h>

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
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
using corral::v1::ListSandboxesResponse;
using corral::v1::Sandbox;
using Cells = std::vector<std::string>;
using Rows = std::vector<Cells>;

std::string Age(const google::protobuf::Timestamp& since) {
  return FormatAge(absl::Now() - absl::FromUnixSeconds(since.seconds()));
}

Cells Row(const Sandbox& sandbox) {
  return {
      client::ShortName(sandbox.name()),
      absl::AsciiStrToLower(Sandbox::State_Name(sandbox.state())),
      Age(sandbox.create_time()),
      sandbox.has_workspace()
          ? absl::StrCat("[", sandbox.workspace().path(),
                         sandbox.workspace().read_only() ? ", read-only]" : "]")
          : "[no workspace]"};
}

Cells Row(const Execution& execution) {
  return {client::ShortName(execution.name()), StateText(execution),
          Age(execution.create_time()),
          absl::StrJoin(execution.command().argv(), " ")};
}

// Stands for a sandbox whose directory the server cannot read at present.
Cells UnreachableRow(const std::string& name) {
  return {client::ShortName(name), "unreachable", "-",
          "[its disk does not answer]"};
}

// Puts the executions of each sandbox below it. The two lists cannot be merged
// in one pass, because the names sort differently: "s" < "s-1", but
// "s-1/executions/e" < "s/executions/e".
Rows Join(const ListSandboxesResponse& sandboxes,
          const std::vector<Execution>& executions) {
  std::map<std::string, Cells> sandbox_rows;
  for (const Sandbox& sandbox : sandboxes.sandboxes()) {
    sandbox_rows[sandbox.name()] = Row(sandbox);
  }
  for (const std::string& name : sandboxes.unreachable()) {
    sandbox_rows[name] = UnreachableRow(name);
  }
  std::unordered_map<std::string, std::vector<const Execution*>> by_sandbox;
  for (const Execution& execution : executions) {
    by_sandbox[client::SandboxOf(execution.name())].push_back(&execution);
  }
  Rows rows;
  for (auto& [name, row] : sandbox_rows) {
    rows.push_back(std::move(row));
    for (const Execution* execution : by_sandbox[name]) {
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
  for (const Cells& row : rows) {
    absl::StrAppend(&text, row[0], "\n");
  }
  return text;
}

// Takes the executions from `executions`.
absl::StatusOr<int> PrintJson(const ListSandboxesResponse& sandboxes,
                              std::vector<Execution>& executions) {
  corral::v1::ListExecutionsResponse list;
  for (Execution& execution : executions) {
    *list.add_executions() = std::move(execution);
  }
  return Print(
      absl::StrCat("{\"sandboxes\":", ToJsonArray(sandboxes, "sandboxes"),
                   ",\"unreachable\":", ToJsonArray(sandboxes, "unreachable"),
                   ",\"executions\":", ToJsonArray(list, "executions"), "}\n"));
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
                          "\"unreachable\":\n[name...], "
                          "\"executions\": [Execution...]}.\n",
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
  ASSIGN_OR_RETURN(const ListSandboxesResponse sandboxes,
                   ListSandboxes(*connection));
  ASSIGN_OR_RETURN(std::vector<Execution> executions,
                   ListExecutions(*connection, client::kAllSandboxes));
  if (json) {
    return PrintJson(sandboxes, executions);
  }
  Rows rows = Join(sandboxes, executions);
  return Print(quiet ? Names(rows) : Table(std::move(rows)));
}

}  // namespace bridge

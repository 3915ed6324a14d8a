#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "bridge/cli/attach/terminal.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/exit_report.h"
#include "bridge/cli/text_table.h"
#include "bridge/client/call.h"
#include "bridge/client/resource_name.h"
#include "bridge/options/quantity.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::Sandbox;

constexpr int kPageSize = 1000;

absl::StatusOr<std::vector<Sandbox>> ListSandboxes(
    client::Connection& connection) {
  std::vector<Sandbox> sandboxes;
  corral::v1::ListSandboxesRequest request;
  request.set_parent(client::kTenant);
  request.set_page_size(kPageSize);
  do {
    ASSIGN_OR_RETURN(
        const corral::v1::ListSandboxesResponse page,
        client::Call(connection,
                     &corral::v1::SandboxService::StubInterface::ListSandboxes,
                     request));
    sandboxes.insert(sandboxes.end(), page.sandboxes().begin(),
                     page.sandboxes().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return sandboxes;
}

absl::StatusOr<std::vector<Execution>> ListExecutions(
    client::Connection& connection) {
  std::vector<Execution> executions;
  corral::v1::ListExecutionsRequest request;
  request.set_parent(client::kAllSandboxes);
  request.set_page_size(kPageSize);
  do {
    ASSIGN_OR_RETURN(
        const corral::v1::ListExecutionsResponse page,
        client::Call(
            connection,
            &corral::v1::ExecutionService::StubInterface::ListExecutions,
            request));
    executions.insert(executions.end(), page.executions().begin(),
                      page.executions().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return executions;
}

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

// Each sandbox, and below it what runs or ran in it.
std::string Table(const std::vector<Sandbox>& sandboxes,
                  const std::vector<Execution>& executions) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "STATE", "AGE", "COMMAND"}};
  for (const Sandbox& sandbox : sandboxes) {
    rows.push_back(Row(sandbox));
    for (const Execution& execution : executions) {
      if (client::SandboxOf(execution.name()) == sandbox.name()) {
        rows.push_back(Row(execution));
      }
    }
  }
  const bool cut = ::isatty(STDOUT_FILENO) == 1;
  return FormatTable(rows, cut ? GetTerminalSize().columns() : 0);
}

template <typename Resource>
absl::StatusOr<std::string> JsonList(const std::vector<Resource>& resources) {
  std::vector<std::string> items;
  for (const Resource& resource : resources) {
    ASSIGN_OR_RETURN(items.emplace_back(), ToJson(resource));
  }
  return absl::StrCat("[", absl::StrJoin(items, ","), "]");
}

absl::StatusOr<int> PrintJson(const std::vector<Sandbox>& sandboxes,
                              const std::vector<Execution>& executions) {
  ASSIGN_OR_RETURN(const std::string sandbox_list, JsonList(sandboxes));
  ASSIGN_OR_RETURN(const std::string execution_list, JsonList(executions));
  return Print(absl::StrCat("{\"sandboxes\":", sandbox_list,
                            ",\"executions\":", execution_list, "}\n"));
}

}  // namespace

absl::StatusOr<int> Ps(Invocation invocation) {
  OptionTable table("ps", "[OPTIONS]",
                    "Lists sandboxes and the executions in them.");
  bool json = false;
  table.Flag(0, "json",
             "Print {\"sandboxes\": [Sandbox...], \"executions\":\n"
             "[Execution...]}. Fields of type bytes are base64.",
             json);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(const std::vector<Sandbox> sandboxes,
                   ListSandboxes(*connection));
  ASSIGN_OR_RETURN(const std::vector<Execution> executions,
                   ListExecutions(*connection));
  return json ? PrintJson(sandboxes, executions)
              : Print(Table(sandboxes, executions));
}

}  // namespace bridge

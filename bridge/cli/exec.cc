#include "absl/strings/str_cat.h"
#include "bridge/cli/attached_command.h"
#include "bridge/cli/command_options.h"
#include "bridge/cli/subcommand.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::StatusOr<std::string> WorkspaceOf(client::Connection& connection,
                                        const std::string& sandbox_name) {
  corral::v1::GetSandboxRequest request;
  request.set_name(sandbox_name);
  grpc::ClientContext context;
  corral::v1::Sandbox sandbox;
  RETURN_IF_ERROR(client::ToStatus(
      connection.sandboxes().GetSandbox(&context, request, &sandbox)));
  return sandbox.workspace().path();
}

absl::StatusOr<int> Detach(client::Connection& connection,
                           const corral::v1::RunExecutionRequest& run,
                           bool json) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(run.parent());
  *request.mutable_command() = run.command();
  grpc::ClientContext context;
  corral::v1::Execution execution;
  RETURN_IF_ERROR(client::ToStatus(
      connection.executions().StartExecution(&context, request, &execution)));
  std::string text = client::ShortName(execution.name());
  if (json) {
    ASSIGN_OR_RETURN(text, ToJson(execution));
  }
  return Print(absl::StrCat(text, "\n"));
}

}  // namespace

absl::StatusOr<int> Exec(Invocation invocation) {
  OptionTable table("exec", "[OPTIONS] SANDBOX [--] CMD [ARG...]",
                    "Runs a command in a sandbox that exists, as corral run "
                    "does. With --detach\n"
                    "it prints the execution's name and leaves; corral logs, "
                    "wait and kill take\n"
                    "that name.");
  CommandOptions command_options;
  bool detach = false;
  bool json = false;
  command_options.AddTo(table);
  table.Flag('d', "detach", "Do not wait for the command.", detach);
  table.Flag(0, "json", "With --detach: print the Execution as JSON.", json);
  AddServerOptions(table, invocation.server);
  table.TakeCommandAfter(1);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  if (json && !detach) {
    return UsageError("--json goes with --detach only");
  }

  corral::v1::RunExecutionRequest request;
  ASSIGN_OR_RETURN(*request.mutable_parent(),
                   SandboxArgument(arguments.positionals[0]));
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(const std::string workspace,
                   WorkspaceOf(*connection, request.parent()));
  ASSIGN_OR_RETURN(
      *request.mutable_command(),
      command_options.Build(arguments.command, workspace, !detach));
  return detach ? Detach(*connection, request, json)
                : RunAttached(*connection, request);
}

}  // namespace bridge

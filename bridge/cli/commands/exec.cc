#include "bridge/cli/attach/attached_command.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/command_options.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::StatusOr<std::string> WorkspaceOf(client::Connection& connection,
                                        const std::string& sandbox_name) {
  corral::v1::GetSandboxRequest request;
  request.set_name(sandbox_name);
  ASSIGN_OR_RETURN(
      const corral::v1::Sandbox sandbox,
      client::Call(connection,
                   &corral::v1::SandboxService::StubInterface::GetSandbox,
                   request));
  return sandbox.workspace().path();
}

}  // namespace

absl::StatusOr<int> Exec(Invocation invocation) {
  OptionTable table("exec", "[OPTIONS] SANDBOX [--] CMD [ARG...]",
                    "Runs a command in a sandbox that exists, as corral run "
                    "does. With --detach\n"
                    "it prints the execution's name and leaves; corral attach, "
                    "logs, wait and kill\n"
                    "take that name.");
  CommandOptions command_options;
  DetachKeys detach_keys;
  bool detach = false;
  bool json = false;
  command_options.AddTo(table);
  table.Flag('d', "detach", "Do not wait for the command.", detach);
  AddDetachKeys(table, detach_keys);
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
  return detach ? StartDetached(*connection, request.parent(),
                                request.command(), json)
                : RunAttached(*connection, request, detach_keys);
}

}  // namespace bridge

#include <memory>
#include <string>

#include "bridge/cli/attach/attached_command.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/commands/command_options.h"
#include "bridge/cli/commands/detached_command.h"
#include "bridge/cli/commands/port_publisher.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/options/server_options.h"
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

struct ExecOptions {
  CommandOptions command;
  PortPublisher ports;
  DetachKeys detach_keys;
  std::string name;
  bool detach = false;
  bool remove = false;
  bool json = false;
};

void AddTo(OptionTable& table, ExecOptions& options) {
  table.Text(0, "name", "NAME",
             "The name of the execution (a-z, 0-9 and -). Default: random.",
             options.name);
  options.command.AddTo(table);
  table.Flag('d', "detach",
             "Do not wait for the command: print the execution's name, for\n"
             "corral attach, logs, wait and kill.",
             options.detach);
  options.ports.AddTo(table);
  AddDetachKeys(table, options.detach_keys);
  table.Flag(0, "rm",
             "Has no effect without --detach: the execution is deleted.",
             options.remove);
  table.Flag(0, "json", "With --detach: print the Execution as JSON.",
             options.json);
}

absl::Status Check(const ExecOptions& options) {
  if (options.json && !options.detach) {
    return UsageError("--json goes with --detach only");
  }
  if (options.remove && options.detach) {
    return UsageError(
        "--rm does not go with --detach; corral prune deletes executions that "
        "have ended");
  }
  if (!options.ports.empty() && options.detach) {
    return UsageError(
        "--publish does not go with --detach; use corral port-forward");
  }
  return absl::OkStatus();
}

corral::v1::StartExecutionRequest ToStart(
    const corral::v1::RunExecutionRequest& request) {
  corral::v1::StartExecutionRequest start;
  start.set_parent(request.parent());
  start.set_execution_id(request.execution_id());
  *start.mutable_command() = request.command();
  return start;
}

}  // namespace

absl::StatusOr<int> Exec(Invocation invocation) {
  OptionTable table(
      "corral exec", "[OPTIONS] SANDBOX [--] CMD [ARG...]",
      "Runs a command in a sandbox that exists, as corral run does. When the\n"
      "command has ended, the execution is deleted, and processes that it "
      "left\n"
      "in the background with it: --detach keeps both.");
  // The forwarder of the ports, which ends first, uses the connection.
  std::unique_ptr<client::Connection> connection;
  ExecOptions options;
  AddTo(table, options);
  AddServerOptions(table, invocation.server);
  table.TakeCommandAfter(1);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  RETURN_IF_ERROR(Check(options));

  corral::v1::RunExecutionRequest request;
  request.set_execution_id(options.name);
  ASSIGN_OR_RETURN(*request.mutable_parent(),
                   SandboxArgument(arguments.positionals[0]));
  ASSIGN_OR_RETURN(connection, client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(const std::string workspace,
                   WorkspaceOf(*connection, request.parent()));
  ASSIGN_OR_RETURN(
      *request.mutable_command(),
      options.command.Build(arguments.command, workspace,
                            options.detach ? CommandOptions::Io::kDetached
                                           : CommandOptions::Io::kAttached));
  if (!options.detach) {
    RETURN_IF_ERROR(options.ports.Listen());
    return RunAttached(*connection, request, options.detach_keys,
                       [&](const std::string&) {
                         options.ports.Begin(*connection, request.parent());
                       });
  }
  return StartDetached(
      *connection, ToStart(request),
      options.json ? DetachedOutput::kJson : DetachedOutput::kName);
}

}  // namespace bridge

#include <memory>
#include <string>

#include "bridge/cli/attach/attached_command.h"
#include "bridge/cli/commands/command_options.h"
#include "bridge/cli/commands/detached_command.h"
#include "bridge/cli/commands/port_publisher.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/resource_name.h"
#include "bridge/options/sandbox_options.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::StatusOr<int> RunDetached(
    client::Connection& connection,
    const corral::v1::RunExecutionRequest& request) {
  corral::v1::CreateSandboxRequest creation;
  creation.set_parent(request.parent());
  creation.set_sandbox_id(request.sandbox_id());
  *creation.mutable_sandbox() = request.sandbox();
  corral::v1::StartExecutionRequest start;
  *start.mutable_command() = request.command();
  return StartDetachedInNewSandbox(connection, creation, start);
}

absl::Status CheckDetached(bool remove, const PortPublisher& ports) {
  if (remove) {
    return UsageError(
        "--rm does not go with --detach; --idle-timeout 1m deletes the sandbox "
        "a minute after its command has ended");
  }
  if (!ports.empty()) {
    return UsageError(
        "--publish does not go with --detach; corral port-forward reaches the "
        "ports of a sandbox that runs");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> Run(Invocation invocation) {
  OptionTable table(
      "corral run", "[OPTIONS] [--] CMD [ARG...]",
      "Runs a command in a sandbox of its own, as if it ran here: input, "
      "output\n"
      "and signals are passed on, and the exit status is the command's (128+n\n"
      "for a signal; 126 or 127 if it cannot be executed; 125 if Corral\n"
      "failed). The sandbox is deleted when the command has ended.");
  SandboxOptions sandbox_options;
  CommandOptions command_options;
  corral::v1::RunExecutionRequest request;
  bool detach = false;
  bool remove = false;
  table.Text(0, "name", "NAME",
             "The name of the sandbox (a-z, 0-9 and -). Default: random.",
             *request.mutable_sandbox_id());
  sandbox_options.AddTo(table);
  command_options.AddTo(table);
  table.Flag('d', "detach",
             "Do not wait for the command: print the execution's name. Its\n"
             "sandbox stays until corral rm, or the end of its lifetime.",
             detach);
  table.Flag(0, "rm", "Has no effect without --detach: the sandbox is deleted.",
             remove);
  // The forwarder of the ports, which ends first, uses the connection.
  std::unique_ptr<client::Connection> connection;
  PortPublisher ports;
  ports.AddTo(table);
  AddServerOptions(table, invocation.server);
  table.TakeCommandAfter(0);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  if (detach) {
    RETURN_IF_ERROR(CheckDetached(remove, ports));
  }

  request.set_parent(client::kTenant);
  ASSIGN_OR_RETURN(*request.mutable_sandbox(), sandbox_options.Build());
  ASSIGN_OR_RETURN(*request.mutable_command(),
                   command_options.Build(
                       arguments.command, request.sandbox().workspace().path(),
                       detach ? CommandOptions::Io::kDetached
                              : CommandOptions::Io::kAttached));
  ASSIGN_OR_RETURN(connection, client::Connection::Open(invocation.server));
  if (detach) {
    return RunDetached(*connection, request);
  }
  RETURN_IF_ERROR(ports.Listen());
  return RunAttached(*connection, request, DetachKeys(),
                     [&](const std::string& execution) {
                       ports.Begin(*connection, client::SandboxOf(execution));
                     });
}

}  // namespace bridge

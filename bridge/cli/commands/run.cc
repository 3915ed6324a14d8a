#include <memory>
#include <string>
#include <vector>

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

struct RunOptions {
  std::string name;
  SandboxOptions sandbox;
  CommandOptions command;
  PortPublisher ports;
  bool detach = false;
  bool remove = false;
};

void AddTo(OptionTable& table, RunOptions& options) {
  table.Text(0, "name", "NAME",
             "The name of the sandbox (a-z, 0-9 and -). Default: random.",
             options.name);
  options.sandbox.AddTo(table);
  options.command.AddTo(table);
  table.Flag('d', "detach",
             "Do not wait for the command: print the execution's name. Its\n"
             "sandbox stays until corral rm, or the end of its lifetime.",
             options.detach);
  table.Flag(0, "rm", "Has no effect without --detach: the sandbox is deleted.",
             options.remove);
  options.ports.AddTo(table);
}

absl::Status Check(const RunOptions& options) {
  if (options.remove && options.detach) {
    return UsageError(
        "--rm does not go with --detach; --idle-timeout 1m deletes the sandbox "
        "a minute after its command has ended");
  }
  if (!options.ports.empty() && options.detach) {
    return UsageError(
        "--publish does not go with --detach; corral port-forward reaches the "
        "ports of a sandbox that runs");
  }
  return absl::OkStatus();
}

absl::StatusOr<corral::v1::RunExecutionRequest> ToRequest(
    const RunOptions& options, const std::vector<std::string>& command) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(client::kTenant);
  request.set_sandbox_id(options.name);
  ASSIGN_OR_RETURN(*request.mutable_sandbox(), options.sandbox.Build());
  ASSIGN_OR_RETURN(
      *request.mutable_command(),
      options.command.Build(command, request.sandbox().workspace().path(),
                            options.detach ? CommandOptions::Io::kDetached
                                           : CommandOptions::Io::kAttached));
  return request;
}

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

}  // namespace

absl::StatusOr<int> Run(Invocation invocation) {
  OptionTable table(
      "corral run", "[OPTIONS] [--] CMD [ARG...]",
      "Runs a command in a sandbox of its own, as if it ran here: input, "
      "output\n"
      "and signals are passed on, and the exit status is the command's (128+n\n"
      "for a signal; 126 or 127 if it cannot be executed; 125 if Corral\n"
      "failed). The sandbox is deleted when the command has ended.");
  // The forwarder of the ports, which ends first, uses the connection.
  std::unique_ptr<client::Connection> connection;
  RunOptions options;
  AddTo(table, options);
  AddServerOptions(table, invocation.server);
  table.TakeCommandAfter(0);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  RETURN_IF_ERROR(Check(options));
  ASSIGN_OR_RETURN(const corral::v1::RunExecutionRequest request,
                   ToRequest(options, arguments.command));
  ASSIGN_OR_RETURN(connection, client::Connection::Open(invocation.server));
  if (options.detach) {
    return RunDetached(*connection, request);
  }
  RETURN_IF_ERROR(options.ports.Listen());
  return RunAttached(
      *connection, request, DetachKeys(), [&](const std::string& execution) {
        options.ports.Begin(*connection, client::SandboxOf(execution));
      });
}

}  // namespace bridge

#include "bridge/cli/attach/attached_command.h"
#include "bridge/cli/command_options.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/sandbox_options.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::StatusOr<int> StartInNewSandbox(
    client::Connection& connection,
    const corral::v1::RunExecutionRequest& request) {
  corral::v1::CreateSandboxRequest create;
  create.set_parent(request.parent());
  create.set_request_id(client::NewRequestId());
  *create.mutable_sandbox() = request.sandbox();
  ASSIGN_OR_RETURN(
      const corral::v1::Sandbox sandbox,
      client::Call(connection,
                   &corral::v1::SandboxService::StubInterface::CreateSandbox,
                   create));
  return StartDetached(connection, sandbox.name(), request.command(),
                       /*json=*/false);
}

}  // namespace

absl::StatusOr<int> Run(Invocation invocation) {
  OptionTable table(
      "run", "[OPTIONS] [--] CMD [ARG...]",
      "Runs a command in a sandbox of its own, as if it ran here: input, "
      "output\n"
      "and signals are passed on, and the exit status is the command's (128+n\n"
      "for a signal; 126, 127 if it cannot be executed; 125 if Corral "
      "failed).");
  SandboxOptions sandbox_options;
  CommandOptions command_options;
  bool detach = false;
  sandbox_options.AddTo(table);
  command_options.AddTo(table);
  table.Flag('d', "detach",
             "Do not wait for the command: print the execution's name. Its\n"
             "sandbox stays until corral rm, or the end of its lifetime.",
             detach);
  AddServerOptions(table, invocation.server);
  table.TakeCommandAfter(0);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }

  corral::v1::RunExecutionRequest request;
  request.set_parent(client::kTenant);
  ASSIGN_OR_RETURN(*request.mutable_sandbox(), sandbox_options.Build());
  ASSIGN_OR_RETURN(
      *request.mutable_command(),
      command_options.Build(arguments.command,
                            request.sandbox().workspace().path(), !detach));
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  return detach ? StartInNewSandbox(*connection, request)
                : RunAttached(*connection, request, DetachKeys());
}

}  // namespace bridge

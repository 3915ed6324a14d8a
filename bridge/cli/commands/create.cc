#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/json_output.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "bridge/options/sandbox_options.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

absl::StatusOr<int> Create(Invocation invocation) {
  OptionTable table("corral create", "[OPTIONS]",
                    "Creates a sandbox and prints its name. The sandbox stays "
                    "until corral rm,\n"
                    "or until the end of its lifetime.");
  SandboxOptions sandbox_options;
  corral::v1::CreateSandboxRequest request;
  bool json = false;
  table.Text('n', "name", "NAME",
             "Its name (a-z, 0-9 and -). Default: a random one.",
             *request.mutable_sandbox_id());
  sandbox_options.AddTo(table);
  table.Flag(0, "json", absl::StrCat("Print the Sandbox as JSON.\n", kJsonHelp),
             json);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }

  request.set_parent(client::kTenant);
  request.set_request_id(client::NewRequestId());
  ASSIGN_OR_RETURN(*request.mutable_sandbox(), sandbox_options.Build());
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(
      const corral::v1::Sandbox sandbox,
      client::Call(*connection,
                   &corral::v1::SandboxService::StubInterface::CreateSandbox,
                   request));
  const std::string text =
      json ? ToJson(sandbox) : client::ShortName(sandbox.name());
  return Print(absl::StrCat(text, "\n"));
}

}  // namespace bridge

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/options/egress_options.h"
#include "bridge/options/server_options.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::StatusOr<corral::v1::AllowHostsRequest> MakeRequest(
    const std::vector<std::string>& words) {
  corral::v1::AllowHostsRequest request;
  ASSIGN_OR_RETURN(*request.mutable_name(), SandboxArgument(words[0]));
  for (size_t i = 1; i < words.size(); ++i) {
    const absl::StatusOr<corral::v1::EgressRule> rule =
        ParseEgressRule(words[i]);
    if (!rule.ok()) {
      return UsageError(
          absl::StrCat("\"", words[i], "\": ", rule.status().message()));
    }
    *request.add_egress_rules() = *rule;
  }
  return request;
}

}  // namespace

absl::StatusOr<int> Allow(Invocation invocation) {
  OptionTable table(
      "corral allow", "[OPTIONS] SANDBOX NAME[:PORT]...",
      "Lets programs in a sandbox reach further hosts from now on, while they\n"
      "run. The hosts are named as with corral run --allow-host. The sandbox\n"
      "must have been created with --allow-host.");
  table.TakePositionals(2, SIZE_MAX);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  ASSIGN_OR_RETURN(const corral::v1::AllowHostsRequest request,
                   MakeRequest(arguments.positionals));
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  // Repeated if the connection is lost: no rule is added twice.
  RETURN_IF_ERROR(
      client::Call(*connection,
                   &corral::v1::SandboxService::StubInterface::AllowHosts,
                   request)
          .status());
  return 0;
}

}  // namespace bridge

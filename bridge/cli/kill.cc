#include <signal.h>

#include "bridge/cli/signal_name.h"
#include "bridge/cli/subcommand.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

absl::StatusOr<int> Kill(Invocation invocation) {
  OptionTable table("kill", "[OPTIONS] EXECUTION...",
                    "Sends a signal to the command and all its descendants.");
  int signal = SIGTERM;
  bool leader = false;
  table.Value('s', "signal", "SIGNAL", "By name or number. Default: TERM.",
              [&signal](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(signal, ParseSignal(value));
                return absl::OkStatus();
              });
  table.Flag(0, "leader", "Only to the command's first process.", leader);
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  if (arguments.help) {
    return Print(table.Help());
  }
  if (arguments.positionals.empty()) {
    return UsageError("corral kill takes at least one EXECUTION");
  }
  std::vector<std::string> names;
  for (const std::string& word : arguments.positionals) {
    const absl::StatusOr<std::string> name = client::ExecutionName(word);
    if (!name.ok()) {
      return UsageError(name.status().message());
    }
    names.push_back(*name);
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  absl::Status first_error;
  for (const std::string& name : names) {
    corral::v1::SignalExecutionRequest request;
    request.set_name(name);
    request.set_signal(signal);
    request.set_scope(leader ? corral::v1::SignalExecutionRequest::LEADER
                             : corral::v1::SignalExecutionRequest::TREE);
    grpc::ClientContext context;
    google::protobuf::Empty empty;
    first_error.Update(client::ToStatus(
        connection->executions().SignalExecution(&context, request, &empty)));
  }
  RETURN_IF_ERROR(first_error);
  return 0;
}

}  // namespace bridge

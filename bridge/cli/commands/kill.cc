#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/options/signal_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::Status Send(client::Connection& connection,
                  const corral::v1::SignalExecutionRequest& request) {
  return client::CallOnce(
             connection,
             &corral::v1::ExecutionService::StubInterface::SignalExecution,
             request)
      .status();
}

// Writes -9 and -KILL, as kill(1) takes them, as --signal=9 and --signal=KILL.
void RewriteSignals(std::vector<std::string>& words) {
  for (std::string& word : words) {
    if (absl::StartsWith(word, "-") && ParseSignal(word.substr(1)).ok()) {
      word = absl::StrCat("--signal=", word.substr(1));
    }
  }
}

}  // namespace

absl::StatusOr<int> Kill(Invocation invocation) {
  OptionTable table("corral kill", "[OPTIONS] EXECUTION...",
                    "Sends a signal to the command and all its descendants.");
  int signal = SIGTERM;
  bool leader = false;
  table.Value('s', "signal", "SIGNAL",
              "By name or number, also as -9 or -KILL. Default: TERM.",
              [&signal](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(signal, ParseSignal(value));
                return absl::OkStatus();
              });
  table.Flag(0, "leader", "Only to the command's first process.", leader);
  table.TakePositionals(1, SIZE_MAX);
  RewriteSignals(invocation.words);
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ParseNames(table, invocation, ExecutionArgument));
  if (names.empty()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  corral::v1::SignalExecutionRequest request;
  request.set_signal(signal);
  request.set_scope(leader ? corral::v1::SignalExecutionRequest::LEADER
                           : corral::v1::SignalExecutionRequest::TREE);
  absl::Status first_error;
  for (const std::string& name : names) {
    request.set_name(name);
    first_error.Update(Send(*connection, request));
  }
  RETURN_IF_ERROR(first_error);
  return 0;
}

}  // namespace bridge

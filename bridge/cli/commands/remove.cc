#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::StatusOr<std::string> EitherName(const std::string& word) {
  for (const absl::StatusOr<std::string>& name :
       {client::SandboxName(word), client::ExecutionName(word)}) {
    if (name.ok()) {
      return name;
    }
  }
  return UsageError(absl::StrCat("\"", word,
                                 "\": allowed are SANDBOX and "
                                 "SANDBOX/EXECUTION, of a-z, 0-9 and -"));
}

absl::Status RemoveOne(client::Connection& connection,
                       const std::string& name) {
  if (absl::StrContains(name, "/executions/")) {
    corral::v1::DeleteExecutionRequest request;
    request.set_name(name);
    return client::Delete(
        connection,
        &corral::v1::ExecutionService::StubInterface::DeleteExecution, request);
  }
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  return client::Delete(
      connection, &corral::v1::SandboxService::StubInterface::DeleteSandbox,
      request);
}

}  // namespace

absl::StatusOr<int> Remove(Invocation invocation) {
  OptionTable table(
      "rm", "[OPTIONS] SANDBOX|EXECUTION...",
      "Removes sandboxes and executions (SANDBOX/EXECUTION): kills what "
      "runs there with\n"
      "SIGKILL, and deletes its output and its records. A "
      "workspace is left alone.");
  table.TakePositionals(1, SIZE_MAX);
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ParseNames(table, invocation, EitherName));
  if (names.empty()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  absl::Status first_error;
  for (const std::string& name : names) {
    first_error.Update(RemoveOne(*connection, name));
  }
  RETURN_IF_ERROR(first_error);
  return 0;
}

}  // namespace bridge

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/client/call.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

bool IsExecution(const std::string& name) {
  return absl::StrContains(name, "/executions/");
}

absl::StatusOr<std::string> EitherName(const std::string& word) {
  for (const absl::StatusOr<std::string>& name :
       {client::SandboxName(word), client::ExecutionName(word)}) {
    if (name.ok()) {
      return name;
    }
  }
  return UsageError(absl::StrCat("\"", word,
                                 "\": allowed is SANDBOX or "
                                 "SANDBOX/EXECUTION, of a-z, 0-9 and -"));
}

// Leaves out executions whose sandbox is removed as well, so that rm accepts
// the names that corral ps -q prints.
std::vector<std::string> WithoutCovered(const std::vector<std::string>& names) {
  const std::set<std::string> all(names.begin(), names.end());
  std::vector<std::string> rest;
  for (const std::string& name : names) {
    if (!IsExecution(name) || all.count(client::SandboxOf(name)) == 0) {
      rest.push_back(name);
    }
  }
  return rest;
}

absl::Status RemoveOne(client::Connection& connection,
                       const std::string& name) {
  if (IsExecution(name)) {
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
      "corral rm", "[OPTIONS] SANDBOX|EXECUTION...",
      "Removes sandboxes and executions (SANDBOX/EXECUTION): kills what runs\n"
      "there with SIGKILL, and deletes output and records. A workspace is "
      "left\n"
      "alone.");
  bool force = false;
  table.Flag('f', "force", "Ignore names that do not exist.", force);
  bool recursive = false;
  table.Flag('r', "recursive",
             "Has no effect: a sandbox goes with its executions.", recursive);
  table.TakePositionals(1, SIZE_MAX);
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ParseNames(table, invocation, EitherName));
  if (names.empty()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  absl::Status first_error;
  for (const std::string& name : WithoutCovered(names)) {
    const absl::Status status = RemoveOne(*connection, name);
    if (!force || !absl::IsNotFound(status)) {
      first_error.Update(status);
    }
  }
  RETURN_IF_ERROR(first_error);
  return 0;
}

}  // namespace bridge

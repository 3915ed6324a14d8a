#include "bridge/cli/commands/detached_command.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/exit_report.h"
#include "bridge/cli/report/json_output.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using Executions = corral::v1::ExecutionService::StubInterface;
using Sandboxes = corral::v1::SandboxService::StubInterface;

// The next functions delete what is not needed, and print a line if that fails.
void SayIfLeft(const absl::Status& status, const std::string& name) {
  if (!status.ok() && !absl::IsNotFound(status)) {
    Say(absl::StrCat(client::ShortName(name),
                     " could not be deleted: ", status.message()));
  }
}

void DeleteSandbox(client::Connection& connection, const std::string& name) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  SayIfLeft(client::Delete(connection, &Sandboxes::DeleteSandbox, request),
            name);
}

void DeleteExecution(client::Connection& connection, const std::string& name) {
  corral::v1::DeleteExecutionRequest request;
  request.set_name(name);
  SayIfLeft(client::Delete(connection, &Executions::DeleteExecution, request),
            name);
}

absl::StatusOr<Execution> Start(client::Connection& connection,
                                corral::v1::StartExecutionRequest request) {
  request.set_request_id(client::NewRequestId());
  return client::Call(connection, &Executions::StartExecution, request);
}

bool FailedToStart(const Execution& execution) {
  return execution.state() == Execution::FAILED_TO_START;
}

int ReportFailure(const Execution& execution) {
  Say(ExplainEnd(execution));
  return ExitCode(execution);
}

}  // namespace

absl::StatusOr<int> StartDetached(
    client::Connection& connection,
    const corral::v1::StartExecutionRequest& request, DetachedOutput output) {
  ASSIGN_OR_RETURN(const Execution execution, Start(connection, request));
  if (FailedToStart(execution)) {
    const int code = ReportFailure(execution);
    DeleteExecution(connection, execution.name());
    return code;
  }
  const std::string text = output == DetachedOutput::kJson
                               ? ToJson(execution)
                               : client::ShortName(execution.name());
  return Print(absl::StrCat(text, "\n"));
}

absl::StatusOr<int> StartDetachedInNewSandbox(
    client::Connection& connection,
    const corral::v1::CreateSandboxRequest& creation,
    const corral::v1::StartExecutionRequest& request) {
  corral::v1::CreateSandboxRequest create = creation;
  create.set_request_id(client::NewRequestId());
  ASSIGN_OR_RETURN(const corral::v1::Sandbox sandbox,
                   client::Call(connection, &Sandboxes::CreateSandbox, create));
  corral::v1::StartExecutionRequest start = request;
  start.set_parent(sandbox.name());
  const absl::StatusOr<Execution> execution = Start(connection, start);
  if (execution.ok() && !FailedToStart(*execution)) {
    return Print(absl::StrCat(client::ShortName(execution->name()), "\n"));
  }
  DeleteSandbox(connection, sandbox.name());
  RETURN_IF_ERROR(execution.status());
  return ReportFailure(*execution);
}

}  // namespace bridge

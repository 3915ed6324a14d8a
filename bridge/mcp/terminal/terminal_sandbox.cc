#include "bridge/mcp/terminal/terminal_sandbox.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using Sandboxes = corral::v1::SandboxService::StubInterface;
using Executions = corral::v1::ExecutionService::StubInterface;

// A sandbox is deleted after this time without a shell, for instance when its
// corral-mcp was killed.
constexpr int64_t kIdleSandboxSeconds = 600;

}  // namespace

TerminalSandbox::~TerminalSandbox() {
  if (name_.empty() || lasting() || !options_.existing.empty()) {
    return;
  }
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name_);
  client::CallOptions call;
  call.patience = absl::Seconds(1);
  const absl::Status deleted =
      client::Delete(*connection_, &Sandboxes::DeleteSandbox, request, call);
  if (!deleted.ok()) {
    LOG(WARNING) << "cannot delete " << name_ << ": " << deleted;
  }
}

absl::Status TerminalSandbox::Prepare() {
  if (connection_ == nullptr) {
    ASSIGN_OR_RETURN(connection_, client::Connection::Open(options_.server));
  }
  if (!name_.empty()) {
    return absl::OkStatus();
  }
  if (options_.existing.empty()) {
    return Create();
  }
  name_ = options_.existing;
  return absl::OkStatus();
}

absl::Status TerminalSandbox::Replace() {
  if (!options_.existing.empty()) {
    return absl::NotFoundError(
        absl::StrCat("sandbox ", client::ShortName(options_.existing),
                     " is gone, or has failed"));
  }
  name_.clear();
  return Create();
}

absl::Status TerminalSandbox::Create() {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(client::kTenant);
  if (lasting()) {
    // The same request finds the sandbox again.
    request.set_sandbox_id(options_.lasting_id);
  } else {
    request.set_request_id(client::NewRequestId());
  }
  *request.mutable_sandbox() = options_.sandbox;
  if (!request.sandbox().lifetime().has_idle_timeout()) {
    request.mutable_sandbox()
        ->mutable_lifetime()
        ->mutable_idle_timeout()
        ->set_seconds(kIdleSandboxSeconds);
  }
  const absl::StatusOr<corral::v1::Sandbox> sandbox =
      client::Call(*connection_, &Sandboxes::CreateSandbox, request);
  if (absl::IsAlreadyExists(sandbox.status())) {
    return absl::AlreadyExistsError(absl::StrCat(
        "sandbox ", options_.lasting_id,
        " exists with other options; end it with corral rm, or take another "
        "--name"));
  }
  RETURN_IF_ERROR(sandbox.status());
  name_ = sandbox->name();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Execution>> TerminalSandbox::ListRunning() {
  std::vector<Execution> running;
  corral::v1::ListExecutionsRequest request;
  request.set_parent(name_);
  do {
    ASSIGN_OR_RETURN(
        const corral::v1::ListExecutionsResponse page,
        client::Call(*connection_, &Executions::ListExecutions, request));
    for (const Execution& execution : page.executions()) {
      if (execution.state() == Execution::RUNNING) {
        running.push_back(execution);
      }
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return running;
}

}  // namespace bridge

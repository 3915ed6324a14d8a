#include "server/rpc/execution_service.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/status_macros.h"
#include "server/api/ceilings.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/core/input_queue.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/rpc/acknowledgement.h"
#include "server/rpc/control_call.h"
#include "server/rpc/execution_list.h"
#include "server/rpc/find_execution.h"
#include "server/rpc/found_execution.h"
#include "server/rpc/input_write.h"
#include "server/rpc/unary_reply.h"
#include "server/rpc/wait_call.h"
#include "server/rpc/whole_command.h"
#include "server/rpc/window_call.h"
#include "server/runtime/activity.h"

namespace server {

absl::StatusOr<FoundExecution> ExecutionService::Find(const std::string& name) {
  return FindExecution(sandboxes_, name);
}

ExecutionService::UnaryReactor* ExecutionService::AnswerLater(
    Context* context, const std::string& name,
    absl::FunctionRef<void(const FoundExecution&, Answer)> begin) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<FoundExecution> found = Find(name);
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  UnaryReactor* reactor = context->DefaultReactor();
  begin(*found, ReplyLater(reactor, std::move(call)));
  return reactor;
}

absl::StatusOr<std::shared_ptr<Sandbox>> ExecutionService::FindParent(
    const std::string& parent) {
  ASSIGN_OR_RETURN(const SandboxName name,
                   SandboxName::Parse("parent", parent));
  ASSIGN_OR_RETURN(std::shared_ptr<Sandbox> sandbox,
                   sandboxes_->registry().Get(name));
  sandbox->lifetime().Touch();
  return sandbox;
}

absl::Status ExecutionService::CheckRequestedCommand(
    const corral::v1::Command& command,
    const std::vector<absl::string_view>& workspaces) const {
  RETURN_IF_ERROR(CheckCommand("command", command, workspaces));
  return CheckCeilings(ceilings_, "command", command);
}

corral::v1::Command ExecutionService::Complete(
    corral::v1::Command command) const {
  FillFromCeilings(ceilings_, &command);
  return command;
}

absl::StatusOr<std::shared_ptr<Sandbox>> ExecutionService::Admit(
    const corral::v1::StartExecutionRequest& request) {
  ASSIGN_OR_RETURN(std::shared_ptr<Sandbox> sandbox,
                   FindParent(request.parent()));
  RETURN_IF_ERROR(CheckChosenId("execution_id", request.execution_id()));
  RETURN_IF_ERROR(CheckRequestId("request_id", request.request_id()));
  RETURN_IF_ERROR(
      CheckRequestedCommand(request.command(), WorkspacesOf(sandbox->spec())));
  RETURN_IF_ERROR(activity_->AdmitWork());
  return sandbox;
}

Sandbox::NewExecution ExecutionService::ToNewExecution(
    const corral::v1::StartExecutionRequest& request,
    const sandbox::Instant& received) const {
  return {request.execution_id(), Complete(request.command()),
          Identify(request, request.request_id()), received};
}

ExecutionService::UnaryReactor* ExecutionService::StartExecution(
    Context* context, const corral::v1::StartExecutionRequest* request,
    corral::v1::Execution* response) {
  const sandbox::Instant received = ReceivedNow(request->command());
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = Admit(*request);
  if (!sandbox.ok()) {
    return Reply(context, sandbox.status());
  }
  UnaryReactor* reactor = context->DefaultReactor();
  (*sandbox)->StartWhenKnown(
      ToNewExecution(*request, received),
      [request, response, reply = ReplyLater(reactor, std::move(call))](
          const absl::StatusOr<std::shared_ptr<Execution>>& execution) mutable {
        if (execution.ok()) {
          *response = (*execution)->Describe();
          // The execution keeps only a part of a long command in memory.
          corral::v1::Command* command = response->mutable_command();
          *command->mutable_argv() = request->command().argv();
          *command->mutable_environment() = request->command().environment();
        }
        reply(execution.status());
      });
  return reactor;
}

ExecutionService::UnaryReactor* ExecutionService::GetExecution(
    Context* context, const corral::v1::GetExecutionRequest* request,
    corral::v1::Execution* response) {
  Activity::Call call = activity_->BeginCall();
  absl::StatusOr<FoundExecution> found = Find(request->name());
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  *response = found->execution->Describe();
  if (found->execution->has_whole_command()) {
    found->hold.reset();  // as in WaitCall
    return Reply(context, absl::OkStatus());
  }
  UnaryReactor* reactor = context->DefaultReactor();
  reads_->Run(found->sandbox->id(),
              [execution = found->execution, response,
               reply = ReplyLater(reactor, std::move(call))]() mutable {
                reply(ReadWholeCommand(*execution, response));
              });
  return reactor;
}

ExecutionService::UnaryReactor* ExecutionService::ListExecutions(
    Context* context, const corral::v1::ListExecutionsRequest* request,
    corral::v1::ListExecutionsResponse* response) {
  const Activity::Call call = activity_->BeginCall();
  return Reply(context, ListPage(sandboxes_->registry(), *request, response));
}

ExecutionService::UnaryReactor* ExecutionService::WaitExecution(
    Context* context, const corral::v1::WaitExecutionRequest* request,
    corral::v1::Execution* response) {
  Activity::Call call = activity_->BeginCall();
  absl::StatusOr<FoundExecution> found = Find(request->name());
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  std::optional<absl::Duration> timeout;
  if (request->has_timeout()) {
    const absl::StatusOr<absl::Duration> wanted = CheckDuration(
        "timeout", request->timeout(), absl::ZeroDuration(), kYear);
    if (!wanted.ok()) {
      return Reply(context, wanted.status());
    }
    timeout = *wanted;
  }
  return WaitCall::Begin(*std::move(found), timeout, response, timers_,
                         std::move(call));
}

ExecutionService::UnaryReactor* ExecutionService::ReadOutput(
    Context* context, const corral::v1::ReadOutputRequest* request,
    corral::v1::ReadOutputResponse* response) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<FoundExecution> found = Find(request->name());
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  return BeginWindowCall(context, found->execution, request, response, reads_,
                         std::move(call));
}

ExecutionService::UnaryReactor* ExecutionService::AcknowledgeOutput(
    Context* context, const corral::v1::AcknowledgeOutputRequest* request,
    google::protobuf::Empty* /*response*/) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<FoundExecution> found = Find(request->name());
  const absl::Status status =
      found.ok() ? CheckAcknowledgement(*request, *found->execution)
                 : found.status();
  if (!status.ok()) {
    return Reply(context, status);
  }
  UnaryReactor* reactor = context->DefaultReactor();
  found->sandbox->AwaitKnown([sandbox = found->sandbox,
                              execution = found->execution, request,
                              reply = ReplyLater(reactor, std::move(call))](
                                 const absl::Status& known) mutable {
    const auto supervisor = sandbox->supervisor();
    if (known.ok() && supervisor != nullptr) {
      SendAcknowledgement(*request, *execution, supervisor.get());
    }
    reply(known);
  });
  return reactor;
}

ExecutionService::UnaryReactor* ExecutionService::WriteInput(
    Context* context, const corral::v1::WriteInputRequest* request,
    corral::v1::InputState* response) {
  Activity::Call call = activity_->BeginCall();
  absl::StatusOr<FoundExecution> found = Find(request->name());
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  absl::StatusOr<Activity::Held> held =
      activity_->BeginHeld(request->data().size() + InputQueue::kWriteBytes,
                           found->execution->input_queue().bytes());
  if (!held.ok()) {
    return Reply(context, held.status());
  }
  return InputWrite::Start(*std::move(found), request, response, timers_,
                           std::move(call), *std::move(held));
}

ExecutionService::UnaryReactor* ExecutionService::DeleteExecution(
    Context* context, const corral::v1::DeleteExecutionRequest* request,
    google::protobuf::Empty* /*response*/) {
  return AnswerLater(
      context, request->name(), [](const FoundExecution& found, Answer answer) {
        found.sandbox->DeleteExecution(found.id, std::move(answer));
      });
}

ExecutionService::UnaryReactor* ExecutionService::SignalExecution(
    Context* context, const corral::v1::SignalExecutionRequest* request,
    google::protobuf::Empty* /*response*/) {
  return AnswerLater(context, request->name(),
                     [request](const FoundExecution& found, Answer answer) {
                       Signal(found, *request, std::move(answer));
                     });
}

ExecutionService::UnaryReactor* ExecutionService::ResizeTerminal(
    Context* context, const corral::v1::ResizeTerminalRequest* request,
    google::protobuf::Empty* /*response*/) {
  return AnswerLater(context, request->name(),
                     [request](const FoundExecution& found, Answer answer) {
                       Resize(found, *request, std::move(answer));
                     });
}

}  // namespace server

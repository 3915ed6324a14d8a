// The calls that stream: RunExecution, StreamOutput and RunExecutions.

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/status_macros.h"
#include "server/api/ceilings.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/core/lifetime.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/rpc/execution_service.h"
#include "server/rpc/found_execution.h"
#include "server/rpc/output_cursor.h"
#include "server/rpc/output_stream.h"
#include "server/rpc/run_stream.h"
#include "server/runtime/activity.h"

namespace server {

namespace wire = ::corral::supervisor::v1;

namespace {

// Streams from `cursor`, and lets the sandbox know that its output is watched.
void FollowIn(const std::shared_ptr<Sandbox>& sandbox,
              absl::StatusOr<OutputCursor> cursor,
              const std::shared_ptr<OutputStream>& stream) {
  const bool ephemeral = sandbox->spec().ephemeral();
  if (ephemeral) {
    sandbox->BeginViewing();
  }
  stream->Follow(std::move(cursor),
                 [sandbox, ephemeral, hold = sandbox->HoldForCall()] {
                   if (ephemeral) {
                     sandbox->EndViewing();
                   }
                 });
}

// The time in which a short command ends, so that its start and its end are one
// message on each way.
constexpr absl::Duration kReportDelay = absl::Milliseconds(5);

// Starts a validated command and streams its output.
void RunIn(const std::shared_ptr<Sandbox>& sandbox,
           Sandbox::NewExecution wanted,
           const std::shared_ptr<OutputStream>& stream) {
  wanted.report_delay = kReportDelay;
  sandbox->Start(
      std::move(wanted),
      [sandbox,
       stream](const absl::StatusOr<std::shared_ptr<Execution>>& started) {
        if (started.ok()) {
          FollowIn(sandbox, OutputCursor::Create(*started, {}, /*follow=*/true),
                   stream);
          return;
        }
        stream->Fail(started.status());
        if (sandbox->spec().ephemeral()) {
          sandbox->Delete(wire::ExitRecord::SANDBOX_DELETED,
                          [](const absl::Status&) {});
        }
      });
}

}  // namespace

ExecutionService::OutputReactor* ExecutionService::RunExecution(
    Context* /*context*/, const corral::v1::RunExecutionRequest* request) {
  const sandbox::Instant received = ReceivedNow(request->command());
  const std::shared_ptr<OutputStream> stream =
      OutputStream::Create(timers_, reads_, activity_->BeginCall());
  if (stream->admitted().ok()) {
    stream->Fail(IsTenantName(request->parent())
                     ? RunInNew(*request, received, stream)
                     : RunInExisting(*request, received, stream));
  }
  return stream.get();
}

absl::Status ExecutionService::RunInExisting(
    const corral::v1::RunExecutionRequest& request,
    const sandbox::Instant& received,
    const std::shared_ptr<OutputStream>& stream) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox,
                   FindParent(request.parent()));
  if (!request.sandbox_id().empty() || request.has_sandbox()) {
    return InvalidField("parent", request.parent(),
                        "a tenant, if sandbox or sandbox_id is set");
  }
  RETURN_IF_ERROR(CheckChosenId("execution_id", request.execution_id()));
  RETURN_IF_ERROR(CheckRequestId("request_id", request.request_id()));
  RETURN_IF_ERROR(
      CheckRequestedCommand(request.command(), WorkspacesOf(sandbox->spec())));
  RETURN_IF_ERROR(activity_->AdmitWork());
  sandbox->AwaitKnown([sandbox, stream,
                       wanted = Sandbox::NewExecution{
                           request.execution_id(), Complete(request.command()),
                           Identify(request, request.request_id()),
                           received}](const absl::Status& known) {
    if (known.ok()) {
      RunIn(sandbox, wanted, stream);
    } else {
      stream->Fail(known);
    }
  });
  return absl::OkStatus();
}

absl::Status ExecutionService::RunInNew(
    const corral::v1::RunExecutionRequest& request,
    const sandbox::Instant& received,
    const std::shared_ptr<OutputStream>& stream) {
  RETURN_IF_ERROR(CheckChosenId("sandbox_id", request.sandbox_id()));
  RETURN_IF_ERROR(CheckChosenId("execution_id", request.execution_id()));
  RETURN_IF_ERROR(CheckRequestId("request_id", request.request_id()));
  RETURN_IF_ERROR(CheckSandbox("sandbox", request.sandbox()));
  RETURN_IF_ERROR(CheckCeilings(ceilings_, "sandbox", request.sandbox()));
  RETURN_IF_ERROR(CheckRequestedCommand(request.command(),
                                        WorkspacesOf(request.sandbox())));
  RETURN_IF_ERROR(activity_->AdmitWork());
  const wire::RequestIdentity identity =
      Identify(request, request.request_id());
  sandboxes_->Create(
      {request.sandbox(), request.sandbox_id(), identity, /*ephemeral=*/true},
      [stream,
       wanted = Sandbox::NewExecution{
           request.execution_id(), Complete(request.command()), identity,
           received}](const absl::StatusOr<std::shared_ptr<Sandbox>>& sandbox) {
        if (sandbox.ok()) {
          RunIn(*sandbox, wanted, stream);
        } else {
          stream->Fail(sandbox.status());
        }
      });
  return absl::OkStatus();
}

ExecutionService::OutputReactor* ExecutionService::StreamOutput(
    Context* /*context*/, const corral::v1::StreamOutputRequest* request) {
  const std::shared_ptr<OutputStream> stream =
      OutputStream::Create(timers_, reads_, activity_->BeginCall());
  const absl::StatusOr<FoundExecution> found = Find(request->name());
  if (found.ok()) {
    FollowIn(found->sandbox,
             OutputCursor::Create(found->execution, request->cursors(),
                                  !request->no_follow()),
             stream);
  } else {
    stream->Fail(found.status());
  }
  return stream.get();
}

ExecutionService::RunReactor* ExecutionService::RunExecutions(
    Context* /*context*/) {
  return RunStream::Begin(
      [this](const corral::v1::StartExecutionRequest& request,
             RunStream::Started started) {
        StartOne(request, std::move(started));
      },
      activity_->BeginCall());
}

void ExecutionService::StartOne(
    const corral::v1::StartExecutionRequest& request,
    RunStream::Started started) {
  const sandbox::Instant received = ReceivedNow(request.command());
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = Admit(request);
  if (!sandbox.ok()) {
    started(sandbox.status());
    return;
  }
  Sandbox::NewExecution wanted = ToNewExecution(request, received);
  wanted.report_delay = kReportDelay;
  (*sandbox)->StartWhenKnown(
      std::move(wanted),
      [sandbox = *sandbox,
       hold = std::make_shared<const CallHold>((*sandbox)->HoldForCall()),
       started = std::move(started)](
          const absl::StatusOr<std::shared_ptr<Execution>>& execution) mutable {
        if (execution.ok()) {
          started(FoundExecution{sandbox, *execution, (*execution)->id(),
                                 std::move(hold)});
        } else {
          started(execution.status());
        }
      });
}

}  // namespace server

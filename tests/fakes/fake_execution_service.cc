#include "tests/fakes/fake_execution_service.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/grpc_status.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "tests/fakes/request_rules.h"

namespace tests {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;
using google::protobuf::Empty;
using grpc::ServerContext;
using grpc::ServerWriter;
using grpc::Status;
using sandbox::MutexLock;

const Status& Interrupted() {
  static const Status* const status =
      new Status(grpc::StatusCode::UNAVAILABLE, "the server goes down");
  return *status;
}

// Streams until the end. Without cursors: all output that is kept.
Status Stream(FakeExecution& execution, FakeExecution::Cursors cursors,
              bool no_follow, ServerWriter<OutputEvent>* writer) {
  OutputEvent opened;
  *opened.mutable_opened() = execution.Snapshot();
  if (cursors.empty()) {
    for (const auto& stream : opened.opened().streams()) {
      cursors[stream.stream()] = stream.begin_offset();
    }
  }
  writer->Write(opened);
  std::optional<OutputEvent> event;
  do {
    if (!execution.NextEvent(cursors, no_follow, event)) {
      return Interrupted();
    }
    if (!event.has_value()) {
      return Status::OK;
    }
    if (!writer->Write(*event)) {
      return Status::CANCELLED;
    }
  } while (!event->has_ended());
  return Status::OK;
}

}  // namespace

template <typename Function>
Status FakeServer::Executions::With(const std::string& name,
                                    Function function) {
  const auto parsed = server::ExecutionName::Parse("name", name);
  if (!parsed.ok()) {
    return server::ToGrpcStatus(parsed.status());
  }
  const std::shared_ptr<FakeExecution> execution = fake_.FindExecution(name);
  return execution == nullptr
             ? server::ToGrpcStatus(server::ExecutionNotFound(name))
             : function(*execution);
}

template <typename Request, typename Function>
Status FakeServer::Executions::WithChecked(const Request& request,
                                           Function function) {
  return With(request.name(), [&](FakeExecution& execution) {
    const absl::Status checked = CheckRequest(request, execution.Snapshot());
    return checked.ok() ? function(execution) : server::ToGrpcStatus(checked);
  });
}

absl::StatusOr<std::shared_ptr<FakeExecution>> FakeServer::Executions::Start(
    const corral::v1::StartExecutionRequest& request) {
  ASSIGN_OR_RETURN(const corral::v1::Sandbox sandbox,
                   fake_.FindSandbox(request.parent()));
  RETURN_IF_ERROR(CheckRequest(request, sandbox));
  return fake_.Start(request.parent(), request.execution_id(),
                     server::Identify(request, request.request_id()),
                     request.command());
}

absl::StatusOr<std::shared_ptr<FakeExecution>> FakeServer::Executions::Run(
    const corral::v1::RunExecutionRequest& request) {
  const auto identity = server::Identify(request, request.request_id());
  if (!server::IsTenantName(request.parent())) {
    ASSIGN_OR_RETURN(const corral::v1::Sandbox sandbox,
                     fake_.FindSandbox(request.parent()));
    RETURN_IF_ERROR(CheckRequest(request, sandbox));
    return fake_.Start(request.parent(), request.execution_id(), identity,
                       request.command());
  }
  RETURN_IF_ERROR(CheckRequest(request, corral::v1::Sandbox()));
  corral::v1::CreateSandboxRequest creation;
  creation.set_parent(request.parent());
  creation.set_sandbox_id(request.sandbox_id());
  creation.set_request_id(request.request_id());
  *creation.mutable_sandbox() = request.sandbox();
  ASSIGN_OR_RETURN(const corral::v1::Sandbox sandbox,
                   fake_.Create(creation, identity));
  return fake_.Start(sandbox.name(), request.execution_id(), identity,
                     request.command());
}

Status FakeServer::Executions::StartExecution(
    ServerContext*, const corral::v1::StartExecutionRequest* request,
    Execution* response) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.starts.push_back(*request);
  }
  if (fake_.Take(&State::refused_starts)) {
    return server::ToGrpcStatus(
        server::QuotaExceeded(corral::v1::TOO_MANY_EXECUTIONS,
                              request->parent(), "too many executions"));
  }
  const auto execution = Start(*request);
  if (!execution.ok()) {
    return server::ToGrpcStatus(execution.status());
  }
  *response = (*execution)->Snapshot();
  if (const Status status = fake_.StatusOfStart(); !status.ok()) {
    return status;
  }
  return fake_.LosesAnswer() ? Interrupted() : Status::OK;
}

Status FakeServer::Executions::RunExecution(
    ServerContext*, const corral::v1::RunExecutionRequest* request,
    ServerWriter<OutputEvent>* writer) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.runs.push_back(*request);
    fake_.mutex_.Signal();
    fake_.mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(fake_.mutex_) {
      return !fake_.state_.hold_runs || fake_.state_.stopping;
    });
  }
  const auto execution = Run(*request);
  if (!execution.ok()) {
    return server::ToGrpcStatus(execution.status());
  }
  if (const Status status = fake_.StatusOfStart(); !status.ok()) {
    return status;
  }
  return fake_.LosesAnswer() ? Interrupted()
                             : Stream(**execution, {}, false, writer);
}

Status FakeServer::Executions::GetExecution(
    ServerContext*, const corral::v1::GetExecutionRequest* request,
    Execution* response) {
  return With(request->name(), [&](FakeExecution& execution) {
    *response = execution.Snapshot();
    return Status::OK;
  });
}

Status FakeServer::Executions::ListExecutions(
    ServerContext*, const corral::v1::ListExecutionsRequest* request,
    corral::v1::ListExecutionsResponse* response) {
  const absl::Status checked = CheckRequest(*request);
  if (!checked.ok()) {
    return server::ToGrpcStatus(checked);
  }
  MutexLock lock(&fake_.mutex_);
  *response->mutable_unreachable() = {fake_.state_.unreachable.begin(),
                                      fake_.state_.unreachable.end()};
  auto next = fake_.state_.executions.upper_bound(request->page_token());
  for (; next != fake_.state_.executions.end(); ++next) {
    if (absl::EndsWith(request->parent(), "/-") ||
        absl::StartsWith(next->first, absl::StrCat(request->parent(), "/"))) {
      *response->add_executions() = next->second->Snapshot();
      if (response->executions_size() == fake_.state_.page_size) {
        response->set_next_page_token(next->first);
        break;
      }
    }
  }
  return Status::OK;
}

Status FakeServer::Executions::WaitExecution(
    ServerContext*, const corral::v1::WaitExecutionRequest* request,
    Execution* response) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.waits.push_back(*request);
    fake_.mutex_.Signal();
  }
  return With(request->name(), [&](FakeExecution& execution) {
    const absl::Status checked = CheckRequest(*request);
    if (!checked.ok()) {
      return server::ToGrpcStatus(checked);
    }
    const bool at_once =
        fake_.Take(&State::expired_waits) ||
        (request->has_timeout() && request->timeout().seconds() == 0 &&
         request->timeout().nanos() == 0);
    if (!at_once && !execution.WaitUntilEnded()) {
      return Interrupted();
    }
    *response = execution.Snapshot();
    return Status::OK;
  });
}

Status FakeServer::Executions::ReadOutput(
    ServerContext*, const corral::v1::ReadOutputRequest* request,
    corral::v1::ReadOutputResponse* response) {
  return WithChecked(*request, [&](FakeExecution& execution) {
    *response = execution.Read(*request);
    return Status::OK;
  });
}

Status FakeServer::Executions::StreamOutput(
    ServerContext*, const corral::v1::StreamOutputRequest* request,
    ServerWriter<OutputEvent>* writer) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.streams.push_back(*request);
    fake_.mutex_.Signal();
  }
  return WithChecked(*request, [&](FakeExecution& execution) {
    if (fake_.Take(&State::ended_streams)) {
      return Status::OK;
    }
    if (fake_.Take(&State::stalled_streams)) {
      OutputEvent opened;
      *opened.mutable_opened() = execution.Snapshot();
      writer->Write(opened);
      fake_.Stall();
      return Interrupted();
    }
    FakeExecution::Cursors cursors;
    for (const auto& cursor : request->cursors()) {
      cursors[cursor.stream()] = cursor.offset();
    }
    return Stream(execution, cursors, request->no_follow(), writer);
  });
}

Status FakeServer::Executions::AcknowledgeOutput(
    ServerContext*, const corral::v1::AcknowledgeOutputRequest* request,
    Empty*) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.acknowledgements.push_back(*request);
    fake_.mutex_.Signal();
  }
  return WithChecked(*request, [&](FakeExecution& execution) {
    for (const auto& cursor : request->cursors()) {
      execution.Acknowledge(cursor.stream(), cursor.offset());
    }
    return Status::OK;
  });
}

Status FakeServer::Executions::WriteInput(
    ServerContext*, const corral::v1::WriteInputRequest* request,
    corral::v1::InputState* response) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.inputs.push_back(*request);
    fake_.mutex_.Signal();
  }
  return WithChecked(*request, [&](FakeExecution& execution) {
    if (fake_.Take(&State::refused_inputs)) {
      return server::ToGrpcStatus(server::SandboxUnavailable(
          request->name().substr(0, request->name().find("/executions/")),
          "too much input waits", absl::Milliseconds(200)));
    }
    return execution.WriteInput(*request, response);
  });
}

Status FakeServer::Executions::SignalExecution(
    ServerContext*, const corral::v1::SignalExecutionRequest* request, Empty*) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.signals.push_back(*request);
    fake_.mutex_.Signal();
    if (fake_.state_.signal_code != grpc::StatusCode::OK) {
      return {fake_.state_.signal_code, "the signal failed"};
    }
  }
  return WithChecked(*request, [&](FakeExecution& execution) {
    return execution.Signal(request->signal());
  });
}

Status FakeServer::Executions::ResizeTerminal(
    ServerContext*, const corral::v1::ResizeTerminalRequest* request, Empty*) {
  return WithChecked(*request, [&](FakeExecution& execution) {
    return execution.Resize(request->size());
  });
}

Status FakeServer::Executions::DeleteExecution(
    ServerContext*, const corral::v1::DeleteExecutionRequest* request, Empty*) {
  return With(request->name(), [&](FakeExecution& execution) {
    execution.Signal(9);
    execution.WaitUntilEnded();
    MutexLock lock(&fake_.mutex_);
    fake_.state_.deletions.push_back(request->name());
    fake_.state_.executions.erase(request->name());
    return Status::OK;
  });
}

}  // namespace tests

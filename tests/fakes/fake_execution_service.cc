#include "tests/fakes/fake_execution_service.h"

#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"

namespace tests {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;
using google::protobuf::Empty;
using grpc::ServerContext;
using grpc::ServerWriter;
using grpc::Status;
using sandbox::MutexLock;

Status NotFound(const std::string& name) {
  return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no ", name)};
}

// The queue of the execution's input is full.
Status NotReady() {
  google::rpc::ErrorInfo info;
  info.set_domain("corral.v1");
  info.set_reason(corral::v1::ErrorReason_Name(corral::v1::SANDBOX_NOT_READY));
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(200'000'000);
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  details.add_details()->PackFrom(retry);
  return {grpc::StatusCode::UNAVAILABLE, "too much input waits",
          details.SerializeAsString()};
}

const Status& Interrupted() {
  static const Status* const status =
      new Status(grpc::StatusCode::UNAVAILABLE, "the server goes down");
  return *status;
}

// Refuses cursors that name a stream twice.
Status CheckCursors(
    const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>&
        cursors) {
  std::set<corral::v1::Stream> seen;
  for (const auto& cursor : cursors) {
    if (!seen.insert(cursor.stream()).second) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "cursors: each stream once"};
    }
  }
  return Status::OK;
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
  const std::shared_ptr<FakeExecution> execution = fake_.FindExecution(name);
  return execution == nullptr ? NotFound(name) : function(*execution);
}

Status FakeServer::Executions::StartExecution(
    ServerContext*, const corral::v1::StartExecutionRequest* request,
    Execution* response) {
  {
    MutexLock lock(&fake_.mutex_);
    fake_.state_.starts.push_back(*request);
  }
  if (fake_.Take(&State::refused_starts)) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many executions"};
  }
  const auto execution = fake_.Start(
      request->parent(), {request->execution_id(), request->request_id()},
      request->command());
  if (execution == nullptr) {
    return NotFound(request->parent());
  }
  *response = execution->Snapshot();
  {
    MutexLock lock(&fake_.mutex_);
    if (fake_.state_.start_code != grpc::StatusCode::OK) {
      return {fake_.state_.start_code, "the start failed"};
    }
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
  std::string parent = request->parent();
  if (!absl::StrContains(request->parent(), "/sandboxes/")) {
    corral::v1::CreateSandboxRequest creation;
    creation.set_parent(request->parent());
    creation.set_request_id(request->request_id());
    *creation.mutable_sandbox() = request->sandbox();
    parent = fake_.Create(creation).name();
  }
  const auto execution =
      fake_.Start(parent, {request->execution_id(), request->request_id()},
                  request->command());
  if (execution == nullptr) {
    return NotFound(parent);
  }
  return fake_.LosesAnswer() ? Interrupted()
                             : Stream(*execution, {}, false, writer);
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
  return With(request->name(), [&](FakeExecution& execution) {
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
  return With(request->name(), [&](FakeExecution& execution) {
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
    const Status status = CheckCursors(request->cursors());
    if (!status.ok()) {
      return status;
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
  return With(request->name(), [&](FakeExecution& execution) {
    Status status = CheckCursors(request->cursors());
    for (const auto& cursor : request->cursors()) {
      if (status.ok()) {
        execution.Acknowledge(cursor.stream(), cursor.offset());
      }
    }
    return status;
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
  if (fake_.Take(&State::refused_inputs)) {
    return NotReady();
  }
  return With(request->name(), [&](FakeExecution& execution) {
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
  return With(request->name(), [&](FakeExecution& execution) {
    return execution.Signal(request->signal());
  });
}

Status FakeServer::Executions::ResizeTerminal(
    ServerContext*, const corral::v1::ResizeTerminalRequest* request, Empty*) {
  return With(request->name(), [&](FakeExecution& execution) {
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

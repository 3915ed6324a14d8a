// The calls of ExecutionService that read output.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/output_log.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/core/sandbox.h"
#include "server/rpc/execution_service.h"
#include "server/rpc/output_cursor.h"
#include "server/rpc/output_stream.h"
#include "server/rpc/unary_reply.h"
#include "server/runtime/activity.h"

namespace server {
namespace {

using corral::v1::ReadOutputRequest;
using corral::v1::ReadOutputResponse;

constexpr uint32_t kDefaultWindow = 64 << 10;
constexpr uint32_t kMaxWindow = 2 << 20;

uint64_t WindowOffset(const ReadOutputRequest& request,
                      const sandbox::OutputLogState& state, uint64_t size) {
  const uint64_t wanted =
      request.tail() && state.end > size ? state.end - size : request.offset();
  return SkipDropped(state, wanted);
}

absl::Status ReadWindow(const ReadOutputRequest& request,
                        const sandbox::OutputLogReader& log, uint32_t size,
                        ReadOutputResponse* response) {
  std::string* data = response->mutable_data();
  while (true) {
    const absl::StatusOr<sandbox::OutputLogState> loaded = log.state();
    if (!loaded.ok()) {
      return ServerFault("output", loaded.status());
    }
    const sandbox::OutputLogState& state = *loaded;
    if (request.offset() > state.end) {
      return OffsetOutOfRange(corral::v1::Stream_Name(request.stream()),
                              request.offset(), state.end);
    }
    const uint64_t offset = WindowOffset(request, state, size);
    if (state.expired && state.end > 0 &&
        (request.tail() || request.offset() < state.begin)) {
      return OutputExpired(corral::v1::Stream_Name(request.stream()),
                           state.begin, state.end);
    }
    data->resize(std::min<uint64_t>(size, state.end - offset));
    const absl::StatusOr<size_t> got =
        log.Read(offset, data->data(), data->size());
    if (absl::IsOutOfRange(got.status())) {
      continue;  // dropped meanwhile: what is kept begins further on
    }
    if (!got.ok()) {
      return ServerFault("output", got.status());
    }
    data->resize(*got);
    response->set_offset(offset);
    *response->mutable_state() = ToStreamState(request.stream(), state);
    return absl::OkStatus();
  }
}

absl::Status Read(const ReadOutputRequest& request, const Execution& execution,
                  ReadOutputResponse* response) {
  RETURN_IF_ERROR(CheckStream("stream", request.stream()));
  const uint32_t size =
      request.max_bytes() == 0 ? kDefaultWindow : request.max_bytes();
  RETURN_IF_ERROR(CheckRange("max_bytes", size, {1, kMaxWindow}));
  RETURN_IF_ERROR(CheckHasStream(execution, request.stream()));
  // Before the log is read: what an ended execution wrote is all there.
  *response->mutable_execution() = execution.Describe();
  response->mutable_execution()->clear_command();
  const absl::StatusOr<Execution::LogReader> log =
      execution.OpenLog(request.stream());
  if (log.ok()) {
    return ReadWindow(request, **log, size, response);
  }
  if (!absl::IsNotFound(log.status())) {
    return ToOpenError(execution, log.status());
  }
  // Not made yet, or never.
  if (request.offset() > 0) {
    return OffsetOutOfRange(corral::v1::Stream_Name(request.stream()),
                            request.offset(), 0);
  }
  response->mutable_state()->set_stream(request.stream());
  response->mutable_state()->set_closed(execution.ended());
  return absl::OkStatus();
}

absl::Status CheckAcknowledge(
    const corral::v1::AcknowledgeOutputRequest& request,
    const Execution& execution) {
  for (int i = 0; i < request.cursors_size(); ++i) {
    const auto& cursor = request.cursors(i);
    RETURN_IF_ERROR(
        CheckStream(absl::StrCat("cursors[", i, "].stream"), cursor.stream()));
    RETURN_IF_ERROR(CheckHasStream(execution, cursor.stream()));
    const absl::StatusOr<Execution::LogReader> log =
        execution.OpenLog(cursor.stream());
    absl::StatusOr<sandbox::OutputLogState> state = sandbox::OutputLogState();
    if (!log.ok() && !absl::IsNotFound(log.status())) {
      return ToOpenError(execution, log.status());
    }
    if (log.ok()) {
      state = (*log)->state();
    }
    if (!state.ok()) {
      return ServerFault("output", state.status());
    }
    const uint64_t end = state->end;
    if (cursor.offset() > end) {
      return OffsetOutOfRange(corral::v1::Stream_Name(cursor.stream()),
                              cursor.offset(), end);
    }
  }
  return absl::OkStatus();
}

void Acknowledge(const corral::v1::AcknowledgeOutputRequest& request,
                 const std::string& execution_id,
                 sandbox::SupervisorConnection& sandbox) {
  for (const auto& cursor : request.cursors()) {
    wire::Acknowledge acknowledge;
    acknowledge.set_execution_id(execution_id);
    acknowledge.set_stream(ToWire(cursor.stream()));
    acknowledge.set_offset(cursor.offset());
    sandbox.Acknowledge(acknowledge);
  }
}

}  // namespace

ExecutionService::UnaryReactor* ExecutionService::ReadOutput(
    Context* context, const ReadOutputRequest* request,
    ReadOutputResponse* response) {
  const Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<Found> found = Find(request->name());
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  return Reply(context, Read(*request, *found->execution, response));
}

ExecutionService::OutputReactor* ExecutionService::StreamOutput(
    Context* /*context*/, const corral::v1::StreamOutputRequest* request) {
  const std::shared_ptr<OutputStream> stream =
      OutputStream::Create(timers_, activity_->BeginCall());
  const absl::StatusOr<Found> found = Find(request->name());
  if (found.ok()) {
    FollowIn(found->sandbox,
             OutputFollower::Create(found->execution, request->cursors(),
                                    !request->no_follow()),
             stream);
  } else {
    stream->Fail(found.status());
  }
  return stream.get();
}

ExecutionService::UnaryReactor* ExecutionService::AcknowledgeOutput(
    Context* context, const corral::v1::AcknowledgeOutputRequest* request,
    google::protobuf::Empty* /*response*/) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<Found> found = Find(request->name());
  absl::Status status = found.status();
  if (found.ok()) {
    status = CheckAcknowledge(*request, *found->execution);
  }
  if (!status.ok()) {
    return Reply(context, status);
  }
  UnaryReactor* reactor = context->DefaultReactor();
  found->sandbox->AwaitKnown([sandbox = found->sandbox, id = found->id, request,
                              reply = ReplyLater(reactor, std::move(call))](
                                 const absl::Status& known) mutable {
    const auto supervisor = sandbox->supervisor();
    if (known.ok() && supervisor != nullptr) {
      Acknowledge(*request, id, *supervisor);
    }
    reply(known);
  });
  return reactor;
}

}  // namespace server

#include "server/rpc/window_call.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/output_log.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/rpc/log_read.h"
#include "server/rpc/output_cursor.h"
#include "server/rpc/unary_reply.h"
#include "server/runtime/activity.h"

namespace server {
namespace {

using corral::v1::ReadOutputRequest;
using corral::v1::ReadOutputResponse;

constexpr uint32_t kDefaultWindow = 64 << 10;
constexpr uint32_t kMaxWindow = 2 << 20;

uint32_t WindowSize(const ReadOutputRequest& request) {
  return request.max_bytes() == 0 ? kDefaultWindow : request.max_bytes();
}

absl::Status Check(const ReadOutputRequest& request,
                   const Execution& execution) {
  RETURN_IF_ERROR(CheckStream("stream", request.stream()));
  RETURN_IF_ERROR(
      CheckRange("max_bytes", WindowSize(request), {1, kMaxWindow}));
  return CheckHasStream(execution, request.stream());
}

// Returns the offset at which the window begins in a log that holds `state`.
// OFFSET_OUT_OF_RANGE, OUTPUT_EXPIRED.
absl::StatusOr<uint64_t> WindowOffset(const ReadOutputRequest& request,
                                      const sandbox::OutputLogState& state) {
  const std::string& stream = corral::v1::Stream_Name(request.stream());
  if (request.offset() > state.end) {
    return OffsetOutOfRange(stream, request.offset(), state.end);
  }
  if (state.expired && state.end > 0 &&
      (request.tail() || request.offset() < state.begin)) {
    return OutputExpired(stream, state.begin, state.end);
  }
  const uint64_t size = WindowSize(request);
  const uint64_t wanted =
      request.tail() && state.end > size ? state.end - size : request.offset();
  return SkipDropped(state, wanted);
}

// Fills `response` except for the data, and returns the read of the data.
// Absent if there is nothing to read.
absl::StatusOr<std::optional<LogRead>> Prepare(
    const ReadOutputRequest& request,
    const std::shared_ptr<Execution>& execution, ReadOutputResponse* response) {
  const corral::v1::Stream stream = request.stream();
  // Read before the state of the log: if the execution has ended by now, the
  // state has all its output.
  *response->mutable_execution() = execution->Describe();
  response->mutable_execution()->clear_command();
  const std::optional<sandbox::OutputLogState> known =
      execution->output(stream);
  sandbox::OutputLogState state = known.value_or(sandbox::OutputLogState());
  // After the end, a log that does not exist gets no output any more. Nobody
  // closes the log of a LOST execution.
  state.closed =
      state.closed || (execution->ended() &&
                       (!known.has_value() ||
                        execution->state() == corral::v1::Execution::LOST));
  ASSIGN_OR_RETURN(const uint64_t offset, WindowOffset(request, state));
  response->set_offset(offset);
  *response->mutable_state() = ToStreamState(stream, state);
  const uint64_t size =
      std::min<uint64_t>(WindowSize(request), state.end - offset);
  if (size == 0) {
    return std::optional<LogRead>();
  }
  return LogRead(execution, stream, nullptr, offset, size, "");
}

// Answers with the result of a read. Returns false if the wanted output was
// dropped meanwhile, so that the window begins later.
absl::StatusOr<bool> Finish(LogRead read, ReadOutputResponse* response) {
  if (absl::IsOutOfRange(read.status())) {
    return false;
  }
  if (absl::IsNotFound(read.status())) {
    return ExecutionNotFound(read.execution()->name());
  }
  if (!read.status().ok()) {
    return ToReadError(*read.execution(), read.status());
  }
  *response->mutable_data() = read.TakeData();
  return true;
}

// Reads the window on a thread that may wait for the disk.
absl::Status ReadWindow(const ReadOutputRequest& request,
                        const std::shared_ptr<Execution>& execution,
                        ReadOutputResponse* response) {
  if (!execution->output(request.stream()).has_value()) {
    const absl::Status opened = execution->OpenLog(request.stream()).status();
    if (!opened.ok() && !absl::IsNotFound(opened)) {
      return ToReadError(*execution, opened);
    }
  }
  while (true) {
    ASSIGN_OR_RETURN(std::optional<LogRead> read,
                     Prepare(request, execution, response));
    if (!read.has_value()) {
      return absl::OkStatus();
    }
    read->Run();
    ASSIGN_OR_RETURN(const bool finished, Finish(*std::move(read), response));
    if (finished) {
      return absl::OkStatus();
    }
  }
}

// Reads the window without waiting. Returns false if the disk is needed.
absl::StatusOr<bool> TryWindow(const ReadOutputRequest& request,
                               const std::shared_ptr<Execution>& execution,
                               ReadOutputResponse* response) {
  RETURN_IF_ERROR(Check(request, *execution));
  if (!execution->output(request.stream()).has_value()) {
    return false;  // only the disk knows whether there is a log
  }
  ASSIGN_OR_RETURN(std::optional<LogRead> read,
                   Prepare(request, execution, response));
  if (!read.has_value()) {
    return true;
  }
  return read->Try() ? Finish(*std::move(read), response)
                     : absl::StatusOr<bool>(false);
}

}  // namespace

grpc::ServerUnaryReactor* BeginWindowCall(
    grpc::CallbackServerContext* context,
    const std::shared_ptr<Execution>& execution,
    const ReadOutputRequest* request, ReadOutputResponse* response,
    DiskReads* reads, Activity::Call call) {
  const absl::StatusOr<bool> answered =
      TryWindow(*request, execution, response);
  if (!answered.ok() || *answered) {
    return Reply(context, answered.status());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reads->Run(execution->sandbox().id(),
             [execution, request, response,
              reply = ReplyLater(reactor, std::move(call))]() mutable {
               reply(ReadWindow(*request, execution, response));
             });
  return reactor;
}

}  // namespace server

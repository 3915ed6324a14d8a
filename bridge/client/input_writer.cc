#include "bridge/client/input_writer.h"

#include <algorithm>
#include <utility>

#include "bridge/client/error_details.h"
#include "bridge/client/retry_schedule.h"
#include "sandbox/base/status_macros.h"

namespace client {
namespace {

using sandbox::MutexLock;

absl::Status ClosedStatus() {
  return absl::FailedPreconditionError("the command accepts no more input");
}

}  // namespace

InputWriter::InputWriter(Connection* connection, std::string execution_name,
                         Sharing sharing, uint64_t accepted)
    : connection_(connection),
      name_(std::move(execution_name)),
      sharing_(sharing),
      accepted_(accepted) {}

void InputWriter::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  if (context_ != nullptr) {
    context_->TryCancel();
  }
}

bool InputWriter::stopped() {
  MutexLock lock(&mutex_);
  return stopped_;
}

absl::Status InputWriter::Write(std::string data, bool eof) {
  Retry retry = MakeRetry();
  for (;;) {
    corral::v1::WriteInputRequest request;
    request.set_name(name_);
    if (sharing_ == Sharing::kExclusive) {
      request.set_offset(accepted_);
    }
    request.set_data(data);
    request.set_eof(eof);
    corral::v1::InputState state;
    grpc::Status status = WriteOnce(request, retry, &state);
    if (status.ok()) {
      accepted_ = sharing_ == Sharing::kExclusive ? accepted_ + data.size()
                                                  : state.accepted_offset();
      return state.closed() ? ClosedStatus() : absl::OkStatus();
    }
    if (!retry.ShouldRepeat(status)) {
      return Failure(status);
    }
    RETURN_IF_ERROR(SkipAccepted(&data));
  }
}

absl::Status InputWriter::Failure(const grpc::Status& status) {
  return stopped() ? absl::CancelledError("the input is not wanted any more")
                   : ToStatus(status);
}

Retry InputWriter::MakeRetry() {
  CallOptions options;
  // The answer comes when the command has read enough. While the queue of its
  // input is full, the server refuses; the input is still wanted.
  options.timeouts = Timeouts::kRenewal;
  options.refusals = Refusals::kForEver;
  options.abandoned = [this] { return stopped(); };
  return Retry(*connection_, options);
}

grpc::Status InputWriter::WriteOnce(
    const corral::v1::WriteInputRequest& request, Retry& retry,
    corral::v1::InputState* state) {
  grpc::ClientContext* context = nullptr;
  {
    MutexLock lock(&mutex_);
    if (stopped_) {
      return grpc::Status::CANCELLED;
    }
    context_ = std::make_unique<grpc::ClientContext>();
    context = context_.get();
  }
  retry.Begin(*context);
  return connection_->executions().WriteInput(context, request, state);
}

absl::Status InputWriter::SkipAccepted(std::string* data) {
  if (sharing_ == Sharing::kExclusive) {
    // The server skips what arrived before at the same offset.
    return absl::OkStatus();
  }
  // Asks with an empty write: it waits for its turn, so its answer includes all
  // writes before it. The answer of GetExecution may be older than they are.
  corral::v1::WriteInputRequest nothing;
  nothing.set_name(name_);
  corral::v1::InputState state;
  Retry retry = MakeRetry();
  grpc::Status status;
  do {
    status = WriteOnce(nothing, retry, &state);
  } while (retry.ShouldRepeat(status));
  if (!status.ok()) {
    return Failure(status);
  }
  if (state.closed()) {
    return ClosedStatus();
  }
  data->erase(
      0, std::min<uint64_t>(state.accepted_offset() - accepted_, data->size()));
  accepted_ = state.accepted_offset();
  return absl::OkStatus();
}

}  // namespace client

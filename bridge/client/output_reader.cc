#include "bridge/client/output_reader.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bridge/client/request_id.h"
#include "sandbox/base/status_macros.h"

namespace client {
namespace {

using corral::v1::OutputEvent;
using sandbox::MutexLock;

// Between two attempts at a server that accepts connections and then fails.
constexpr absl::Duration kRetryInterval = absl::Milliseconds(100);
constexpr absl::Duration kAcknowledgeTimeout = absl::Seconds(5);

}  // namespace

OutputReader::OutputReader(Connection& connection,
                           const corral::v1::RunExecutionRequest& request)
    : connection_(connection), run_(request) {
  if (run_->request_id().empty()) {
    run_->set_request_id(NewRequestId());
  }
}

OutputReader::OutputReader(Connection& connection,
                           const corral::v1::StreamOutputRequest& request)
    : connection_(connection), follow_(request) {}

OutputReader::~OutputReader() {
  Cancel();
  if (reader_ != nullptr) {
    Finish();
  }
}

void OutputReader::Begin() {
  MutexLock lock(&mutex_);
  // The reader refers to its context.
  reader_.reset();
  context_ = std::make_unique<grpc::ClientContext>();
  if (cancelled_) {
    context_->TryCancel();
  }
  auto& executions = connection_.executions();
  if (run_.has_value() && !opened_) {
    reader_ = executions.RunExecution(context_.get(), *run_);
  } else {
    reader_ = executions.StreamOutput(context_.get(), follow_);
  }
}

void OutputReader::Cancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  if (context_ != nullptr) {
    context_->TryCancel();
  }
}

bool OutputReader::cancelled() {
  MutexLock lock(&mutex_);
  return cancelled_;
}

grpc::Status OutputReader::Finish() {
  // gRPC wants every event read before.
  OutputEvent event;
  while (reader_->Read(&event)) {
  }
  grpc::Status status = reader_->Finish();
  reader_.reset();
  return status;
}

absl::StatusOr<std::optional<OutputEvent>> OutputReader::Next() {
  if (reader_ == nullptr && !ended_) {
    Begin();
  }
  MaybeAcknowledge();
  while (!ended_) {
    OutputEvent event;
    if (!reader_->Read(&event)) {
      RETURN_IF_ERROR(OnBreak());
      continue;
    }
    lost_since_ = absl::InfiniteFuture();
    const bool repeated = event.has_opened() && opened_;
    RETURN_IF_ERROR(Accept(event));
    if (!repeated) {
      return event;
    }
  }
  return std::nullopt;
}

absl::Status OutputReader::OnBreak() {
  const grpc::Status status = Finish();
  if (status.ok() && follow_.no_follow()) {
    ended_ = true;
    return absl::OkStatus();
  }
  if (ShouldResume(status)) {
    return Resume();
  }
  ended_ = true;
  return status.ok() ? absl::UnavailableError("the server ended the stream")
                     : ToStatus(status);
}

bool OutputReader::ShouldResume(const grpc::Status& status) {
  // Before `opened` the request id lets it be asked for again.
  return (status.ok() || IsServerGone(status)) && !cancelled();
}

absl::Status OutputReader::Resume() {
  const absl::Time now = absl::Now();
  if (lost_since_ == absl::InfiniteFuture()) {
    lost_since_ = now;
  } else {
    absl::SleepFor(kRetryInterval);
  }
  if (!connection_.Reconnect(lost_since_ + kPatience,
                             [this] { return cancelled(); })) {
    ended_ = true;
    return cancelled()
               ? absl::CancelledError("cancelled")
               : absl::UnavailableError(absl::StrCat(
                     "the server at ", connection_.address(),
                     " has been gone for ", absl::FormatDuration(kPatience)));
  }
  if (opened_) {
    resumed_ = true;
    follow_.clear_cursors();
  }
  for (const auto& [stream, offset] : cursors_) {
    corral::v1::StreamCursor* cursor = follow_.add_cursors();
    cursor->set_stream(stream);
    cursor->set_offset(offset);
  }
  Begin();
  // The last one may be lost, and the command wait for it.
  unacknowledged_ = acknowledge_every_;
  MaybeAcknowledge();
  return absl::OkStatus();
}

void OutputReader::MaybeAcknowledge() {
  if (acknowledge_every_ == 0 || unacknowledged_ < acknowledge_every_) {
    return;
  }
  corral::v1::AcknowledgeOutputRequest request;
  request.set_name(follow_.name());
  for (const auto& [stream, offset] : cursors_) {
    corral::v1::StreamCursor* cursor = request.add_cursors();
    cursor->set_stream(stream);
    cursor->set_offset(offset - std::min(offset, acknowledge_behind_));
  }
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kAcknowledgeTimeout));
  google::protobuf::Empty empty;
  // Of a server that is gone the stream hears too, and repeats this then.
  if (connection_.executions()
          .AcknowledgeOutput(&context, request, &empty)
          .ok()) {
    unacknowledged_ = 0;
  }
}

void OutputReader::Open(const corral::v1::Execution& opened) {
  if (opened_) {
    return;
  }
  opened_ = true;
  follow_.set_name(opened.name());
  for (const corral::v1::StreamCursor& cursor : follow_.cursors()) {
    cursors_[cursor.stream()] = cursor.offset();
  }
  if (!follow_.cursors().empty()) {
    return;
  }
  for (const corral::v1::StreamState& state : opened.streams()) {
    if (run_.has_value()) {
      cursors_[state.stream()] = 0;
    } else {
      cursors_[state.stream()] = state.begin_offset();
      unpositioned_.insert(state.stream());
    }
  }
}

absl::Status OutputReader::AcceptChunk(const corral::v1::Chunk& chunk) {
  uint64_t& cursor = cursors_[chunk.stream()];
  const bool unpositioned = unpositioned_.erase(chunk.stream()) > 0;
  if (chunk.offset() != cursor && !(unpositioned && chunk.offset() > cursor)) {
    ended_ = true;
    return absl::DataLossError(absl::StrCat("output at offset ", cursor,
                                            " was wanted, the server ",
                                            "sent that at ", chunk.offset()));
  }
  cursor = chunk.offset() + chunk.data().size();
  unacknowledged_ += chunk.data().size();
  return absl::OkStatus();
}

absl::Status OutputReader::Accept(const OutputEvent& event) {
  switch (event.event_case()) {
    case OutputEvent::kOpened:
      Open(event.opened());
      break;
    case OutputEvent::kChunk:
      return AcceptChunk(event.chunk());
    case OutputEvent::kGap:
      cursors_[event.gap().stream()] = event.gap().end_offset();
      break;
    case OutputEvent::kEnded:
      ended_ = true;
      Finish();
      break;
    case OutputEvent::kHeartbeat:
    case OutputEvent::EVENT_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace client

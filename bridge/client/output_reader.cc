#include "bridge/client/output_reader.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/client/error_details.h"
#include "bridge/client/request_id.h"
#include "sandbox/base/status_macros.h"

namespace client {
namespace {

using corral::v1::OutputEvent;
using sandbox::MutexLock;

constexpr absl::Duration kAcknowledgeTimeout = absl::Seconds(5);

}  // namespace

OutputReader::OutputReader(Connection& connection,
                           const corral::v1::RunExecutionRequest& request)
    : connection_(connection),
      run_(request),
      retry_(connection, {{}, {}, {}, {}, [this] { return cancelled(); }}) {
  if (run_->request_id().empty()) {
    run_->set_request_id(NewRequestId());
  }
}

OutputReader::OutputReader(Connection& connection,
                           const corral::v1::StreamOutputRequest& request)
    : connection_(connection),
      follow_(request),
      retry_(connection, {{}, {}, {}, {}, [this] { return cancelled(); }}) {}

OutputReader::~OutputReader() = default;

void OutputReader::Begin() {
  retry_.Begin();
  // The old call is over, so its destructor does not block.
  MutexLock lock(&mutex_);
  auto& executions = connection_.executions();
  call_ = run_.has_value() && state_ == State::kUnopened
              ? std::make_unique<OutputCall>(executions, *run_)
              : std::make_unique<OutputCall>(executions, follow_);
  if (cancelled_) {
    call_->Cancel();
  }
}

void OutputReader::Cancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  if (call_ != nullptr) {
    call_->Cancel();
  }
}

bool OutputReader::cancelled() {
  MutexLock lock(&mutex_);
  return cancelled_;
}

absl::StatusOr<std::optional<OutputEvent>> OutputReader::Next() {
  if (call_ == nullptr) {
    Begin();
  }
  MaybeAcknowledge();
  while (state_ != State::kEnded) {
    const std::optional<OutputEvent> event =
        call_->Read(connection_.timing().stream_silence);
    if (!event.has_value()) {
      RETURN_IF_ERROR(OnBreak());
      continue;
    }
    retry_.OnAnswer();
    const bool repeated = event->has_opened() && state_ == State::kOpen;
    RETURN_IF_ERROR(Accept(*event));
    if (!repeated) {
      return event;
    }
  }
  return std::nullopt;
}

absl::Status OutputReader::OnBreak() {
  grpc::Status status = call_->Finish();
  if (status.ok() && follow_.no_follow()) {
    state_ = State::kEnded;
    return absl::OkStatus();
  }
  if (status.ok()) {
    status = {grpc::StatusCode::UNAVAILABLE, "the server ended the stream"};
  }
  if (cancelled() || !retry_.ShouldRepeat(status)) {
    state_ = State::kEnded;
    return cancelled() ? absl::CancelledError("cancelled") : ToStatus(status);
  }
  if (state_ == State::kOpen) {
    position_.WriteTo(*follow_.mutable_cursors());
  }
  Begin();
  // The last acknowledgement may be lost, and the command may wait for it.
  unacknowledged_ = acknowledge_every_;
  MaybeAcknowledge();
  return absl::OkStatus();
}

void OutputReader::MaybeAcknowledge() {
  if (acknowledge_every_ == 0 || unacknowledged_ < acknowledge_every_ ||
      state_ != State::kOpen) {
    return;
  }
  corral::v1::AcknowledgeOutputRequest request;
  request.set_name(follow_.name());
  position_.WriteTo(*request.mutable_cursors(), acknowledge_behind_);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kAcknowledgeTimeout));
  google::protobuf::Empty empty;
  // If the server is gone, the stream breaks too, and this is repeated then.
  if (connection_.executions()
          .AcknowledgeOutput(&context, request, &empty)
          .ok()) {
    unacknowledged_ = 0;
  }
}

void OutputReader::Open(const corral::v1::Execution& opened) {
  if (state_ == State::kOpen) {
    return;
  }
  state_ = State::kOpen;
  if (run_.has_value()) {
    position_.OpenStarted(opened);
    follow_.set_name(opened.name());
  } else {
    position_.OpenExisting(opened, follow_.cursors());
  }
}

absl::Status OutputReader::Accept(const OutputEvent& event) {
  absl::Status status;
  switch (event.event_case()) {
    case OutputEvent::kOpened:
      Open(event.opened());
      break;
    case OutputEvent::kChunk:
      status = position_.Accept(event.chunk());
      unacknowledged_ += event.chunk().data().size();
      break;
    case OutputEvent::kGap:
      position_.Skip(event.gap());
      break;
    case OutputEvent::kEnded:
      state_ = State::kEnded;
      break;
    case OutputEvent::kHeartbeat:
    case OutputEvent::EVENT_NOT_SET:
      break;
  }
  if (!status.ok()) {
    state_ = State::kEnded;
  }
  return status;
}

}  // namespace client

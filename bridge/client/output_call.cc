#include "bridge/client/output_call.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace client {

// One operation is in progress at a time, so all have the tag null.

OutputCall::OutputCall(Stub& executions,
                       const corral::v1::RunExecutionRequest& request)
    : reader_(
          executions.AsyncRunExecution(&context_, request, &queue_, nullptr)) {}

OutputCall::OutputCall(Stub& executions,
                       const corral::v1::StreamOutputRequest& request)
    : reader_(
          executions.AsyncStreamOutput(&context_, request, &queue_, nullptr)) {}

OutputCall::~OutputCall() {
  if (state_ != State::kFinished) {
    Cancel();
    while (Read(absl::InfiniteDuration()).has_value()) {
    }
    Finish();
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool succeeded = false;
  while (queue_.Next(&tag, &succeeded)) {
  }
}

bool OutputCall::Await(absl::Duration limit) {
  void* tag = nullptr;
  bool succeeded = false;
  const auto deadline = absl::ToChronoTime(absl::Now() + limit);
  if (queue_.AsyncNext(&tag, &succeeded, deadline) ==
      grpc::CompletionQueue::TIMEOUT) {
    silence_ = limit;
    Cancel();
    queue_.Next(&tag, &succeeded);
  }
  return succeeded;
}

std::optional<corral::v1::OutputEvent> OutputCall::Read(
    absl::Duration silence) {
  if (state_ == State::kStarting) {
    state_ = Await(silence) ? State::kReading : State::kOver;
  }
  if (state_ != State::kReading) {
    return std::nullopt;
  }
  corral::v1::OutputEvent event;
  reader_->Read(&event, nullptr);
  if (!Await(silence)) {
    state_ = State::kOver;
    return std::nullopt;
  }
  return event;
}

grpc::Status OutputCall::Finish() {
  grpc::Status status;
  reader_->Finish(&status, nullptr);
  Await(absl::InfiniteDuration());
  state_ = State::kFinished;
  if (silence_ > absl::ZeroDuration()) {
    return {grpc::StatusCode::DEADLINE_EXCEEDED,
            absl::StrCat("the stream was silent for ",
                         absl::FormatDuration(silence_))};
  }
  return status;
}

}  // namespace client

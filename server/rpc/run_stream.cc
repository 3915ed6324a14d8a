#include "server/rpc/run_stream.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/mutex.h"
#include "server/api/grpc_status.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/rpc/found_execution.h"
#include "server/runtime/activity.h"

namespace server {

using sandbox::MutexLock;

// A command that has started.
class RunStream::Command final : public ExecutionWatcher {
 public:
  Command(std::weak_ptr<RunStream> stream, uint64_t number,
          FoundExecution started)
      : stream_(std::move(stream)),
        number_(number),
        started_(std::move(started)) {}

  const std::shared_ptr<Execution>& execution() const {
    return started_.execution;
  }
  // A caller that has its answer keeps the sandbox no longer. Called once.
  void ReleaseSandbox() { started_.hold.reset(); }

  void OnChange() override {
    if (execution()->ended()) {
      if (const auto stream = stream_.lock(); stream != nullptr) {
        stream->OnEnded(number_);
      }
    }
  }

 private:
  const std::weak_ptr<RunStream> stream_;
  const uint64_t number_;
  FoundExecution started_;
};

RunStream* RunStream::Begin(Start start, Activity::Call call) {
  // make_shared cannot reach the constructor.
  std::shared_ptr<RunStream> stream(
      new RunStream(std::move(start), std::move(call)));
  stream->self_ = stream;
  stream->Fail(stream->call_->AddLasting(stream.get(), stream));
  return stream.get();
}

void RunStream::Fail(const absl::Status& status) {
  MutexLock lock(&mutex_);
  failure_.Update(status);
  MaybeAdvance();
}

void RunStream::OnReadDone(bool ok) {
  const auto count = static_cast<size_t>(request_.starts_size());
  uint64_t number = 0;
  {
    MutexLock lock(&mutex_);
    if (ok && count > kMaxStarts) {
      failure_.Update(CheckRange("starts", count, {0, kMaxStarts}));
    } else if (ok) {
      number = std::exchange(starts_, starts_ + count);
      unanswered_ += count;
      for (const auto& start : request_.starts()) {
        starting_bytes_ += start.ByteSizeLong();
      }
    } else if (state_ == State::kReading) {
      state_ = State::kHalfClosed;
    }
    if (!ok || !failure_.ok()) {
      reading_ = false;
      MaybeAdvance();
      return;
    }
  }
  for (const corral::v1::StartExecutionRequest& start : request_.starts()) {
    start_(start,
           [weak = weak_from_this(), number, bytes = start.ByteSizeLong()](
               absl::StatusOr<FoundExecution> started) {
             if (const auto self = weak.lock(); self != nullptr) {
               self->OnStarted(number, bytes, std::move(started));
             }
           });
    ++number;
  }
  request_ = {};  // gives its memory back
  MutexLock lock(&mutex_);
  reading_ = false;
  MaybeAdvance();
}

void RunStream::OnStarted(uint64_t number, size_t bytes,
                          absl::StatusOr<FoundExecution> started) {
  std::shared_ptr<Command> command;
  {
    MutexLock lock(&mutex_);
    starting_bytes_ -= bytes;
    if (state_ == State::kFinished) {
      return;
    }
    if (started.ok()) {
      command = std::make_shared<Command>(weak_from_this(), number,
                                          *std::move(started));
      running_.emplace(number, command);
    } else {
      answers_.push_back({number, started.status()});
    }
    MaybeAdvance();
  }
  if (command != nullptr) {
    // Watches before it reads the state, so that no change is missed.
    command->execution()->Watch(command);
    command->OnChange();
  }
}

void RunStream::OnEnded(uint64_t number) {
  MutexLock lock(&mutex_);
  const auto found = running_.find(number);
  if (found == running_.end()) {
    return;  // its answer is on the way already
  }
  answers_.push_back({number, std::move(found->second)});
  running_.erase(found);
  MaybeAdvance();
}

void RunStream::OnWriteDone(bool ok) {
  std::vector<std::shared_ptr<Command>> answered;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    unanswered_ -= static_cast<size_t>(response_.answers_size());
    answered.swap(answered_);
    if (!ok) {
      failure_.Update(absl::CancelledError());
    }
    MaybeAdvance();
  }
  Unwatch(answered);
}

void RunStream::OnCancel() { Fail(absl::CancelledError()); }

void RunStream::OnDone() {
  std::vector<std::shared_ptr<Command>> left;
  {
    MutexLock lock(&mutex_);
    left.swap(answered_);
    for (auto& [number, command] : std::exchange(running_, {})) {
      left.push_back(std::move(command));
    }
    for (Answer& answer : std::exchange(answers_, {})) {
      if (answer.command.ok()) {
        left.push_back(*std::move(answer.command));
      }
    }
  }
  Unwatch(left);
  left.clear();
  call_->RemoveLasting(this);
  call_.reset();
  self_.reset();  // the last use of this object
}

void RunStream::Unwatch(const std::vector<std::shared_ptr<Command>>& commands) {
  for (const std::shared_ptr<Command>& command : commands) {
    command->execution()->Unwatch(command.get());
  }
}

void RunStream::MaybeAdvance() {
  MaybeWrite();
  MaybeRead();
}

void RunStream::MaybeRead() {
  if (state_ == State::kReading && !reading_ && unanswered_ < kMaxUnanswered &&
      starting_bytes_ < kMaxStartingBytes) {
    reading_ = true;
    StartRead(&request_);
  }
}

void RunStream::MaybeWrite() {
  if (writing_ || state_ == State::kFinished) {
    return;
  }
  if (!failure_.ok()) {
    End(failure_);
  } else if (!answers_.empty()) {
    WriteAnswers();
  } else if (state_ == State::kHalfClosed && unanswered_ == 0) {
    End(absl::OkStatus());
  }
}

void RunStream::WriteAnswers() {
  response_.clear_answers();
  while (!answers_.empty() && response_.answers_size() < kMaxAnswers) {
    Answer& answer = answers_.front();
    corral::v1::ExecutionAnswer* wire = response_.add_answers();
    wire->set_start_number(answer.number);
    if (answer.command.ok()) {
      *wire->mutable_ended() = (*answer.command)->execution()->Describe();
      wire->mutable_ended()->clear_command();
      (*answer.command)->ReleaseSandbox();
      answered_.push_back(*std::move(answer.command));
    } else {
      *wire->mutable_error() = ToRpcStatus(answer.command.status());
    }
    answers_.pop_front();
  }
  writing_ = true;
  StartWrite(&response_);
}

void RunStream::End(const absl::Status& status) {
  state_ = State::kFinished;
  Finish(ToGrpcStatus(status));
}

}  // namespace server

#include "bridge/mcp/terminal/terminal_input.h"

#include <algorithm>
#include <utility>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/log.h"

namespace bridge {

using sandbox::MutexLock;

namespace {

// Below the limit of one WriteInput, 1 MiB.
constexpr size_t kMaxCall = 64 << 10;

}  // namespace

TerminalInput::TerminalInput(client::Connection* connection,
                             std::string execution_name, uint64_t accepted)
    : connection_(connection),
      name_(std::move(execution_name)),
      accepted_(accepted),
      thread_([this] { Run(); }) {}

TerminalInput::~TerminalInput() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    if (context_ != nullptr) {
      context_->TryCancel();
    }
    mutex_.Signal();
  }
  thread_.join();
}

absl::Status TerminalInput::Write(absl::string_view bytes) {
  MutexLock lock(&mutex_);
  if (closed_) {
    return absl::FailedPreconditionError("the terminal's program has ended");
  }
  if (waiting_.size() + bytes.size() > kMaxWaiting) {
    return absl::ResourceExhaustedError(
        "the terminal's program does not read its input; 16 MiB wait already");
  }
  waiting_.append(bytes.data(), bytes.size());
  mutex_.Signal();
  return absl::OkStatus();
}

bool TerminalInput::stopped() {
  MutexLock lock(&mutex_);
  return stopped_;
}

void TerminalInput::Run() {
  while (true) {
    std::string data;
    {
      MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopped_ || !waiting_.empty();
      });
      if (stopped_) {
        return;
      }
      data = waiting_.substr(0, kMaxCall);
      waiting_.erase(0, data.size());
    }
    if (!WriteOut(std::move(data))) {
      MutexLock lock(&mutex_);
      closed_ = true;
      return;
    }
  }
}

client::Retry TerminalInput::MakeRetry() {
  client::CallOptions options;
  // The answer comes when the program has read enough.
  options.timeouts = client::Timeouts::kRenewal;
  options.refusals = client::Refusals::kForEver;
  options.abandoned = [this] { return stopped(); };
  return client::Retry(*connection_, options);
}

grpc::Status TerminalInput::Call(client::Retry& retry, const std::string& data,
                                 uint64_t* accepted, bool* closed) {
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
  corral::v1::WriteInputRequest request;
  request.set_name(name_);
  // Without an offset: people who attach type into the same terminal.
  request.set_data(data);
  corral::v1::InputState state;
  const grpc::Status status =
      connection_->executions().WriteInput(context, request, &state);
  *accepted = state.accepted_offset();
  *closed = state.closed();
  return status;
}

bool TerminalInput::WriteOut(std::string data) {
  client::Retry retry = MakeRetry();
  while (true) {
    bool closed = false;
    uint64_t accepted = 0;
    grpc::Status status = Call(retry, data, &accepted, &closed);
    if (status.ok()) {
      accepted_ = accepted;
      return !closed;
    }
    if (!retry.ShouldRepeat(status)) {
      if (!stopped()) {
        LOG(WARNING) << name_ << ": input was lost: " << status.error_message();
      }
      return false;
    }
    if (!SkipAccepted(&data)) {
      return false;
    }
  }
}

bool TerminalInput::SkipAccepted(std::string* data) {
  // An empty write waits for its turn, so its answer includes all writes
  // before it.
  client::Retry retry = MakeRetry();
  uint64_t accepted = 0;
  bool closed = false;
  grpc::Status status;
  do {
    status = Call(retry, "", &accepted, &closed);
  } while (retry.ShouldRepeat(status));
  if (!status.ok() || closed) {
    return false;
  }
  data->erase(0, std::min<uint64_t>(accepted - accepted_, data->size()));
  accepted_ = accepted;
  return true;
}

}  // namespace bridge

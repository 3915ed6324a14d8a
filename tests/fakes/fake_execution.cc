#include "tests/fakes/fake_execution.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "corral/v1/error_reason.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"

namespace tests {
namespace {

using corral::v1::Execution;
using corral::v1::ExitStatus;
using corral::v1::OutputEvent;
using corral::v1::Stream;
using sandbox::MutexLock;

constexpr size_t kChunkBytes = 65536;
constexpr size_t kPipeBytes = 65536;
constexpr uint64_t kDefaultRetainBytes = 64 << 20;

ExitStatus Signalled(int signal, ExitStatus::Cause cause) {
  ExitStatus exit;
  exit.set_signal(signal);
  exit.set_cause(cause);
  return exit;
}

grpc::Status Ended() {
  google::rpc::ErrorInfo info;
  info.set_domain("corral.v1");
  info.set_reason(corral::v1::ErrorReason_Name(corral::v1::EXECUTION_ENDED));
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  return {grpc::StatusCode::FAILED_PRECONDITION, "it has ended",
          details.SerializeAsString()};
}

}  // namespace

FakeExecution::FakeExecution(std::string name,
                             const corral::v1::Command& command,
                             std::optional<corral::v1::StartFailure> failure,
                             Script script)
    : name_(std::move(name)), command_(command) {
  MutexLock lock(&mutex_);
  state_.set_name(name_);
  *state_.mutable_command() = command;
  state_.mutable_create_time()->set_seconds(::time(nullptr));
  if (command.trace()) {
    *state_.mutable_trace()->mutable_receive_time() = state_.create_time();
    state_.mutable_trace()->mutable_admitted()->set_nanos(7000);
  }
  if (command.has_terminal()) {
    logs_[corral::v1::TERMINAL];
  } else {
    logs_[corral::v1::STDOUT];
    if (!command.merge_stderr()) {
      logs_[corral::v1::STDERR];
    }
  }
  input_closed_ = !command.stdin() && !command.has_terminal();
  if (failure.has_value()) {
    state_.set_state(Execution::FAILED_TO_START);
    *state_.mutable_start_failure() = *failure;
    return;
  }
  state_.set_state(Execution::RUNNING);
  thread_ = std::thread([this, script = std::move(script)] { Run(script); });
}

FakeExecution::~FakeExecution() {
  Signal(SIGKILL);
  if (thread_.joinable()) {
    thread_.join();
  }
}

void FakeExecution::Run(const Script& script) {
  script(*this);
  MutexLock lock(&mutex_);
  ExitStatus normal;
  normal.set_code(0);
  normal.set_cause(ExitStatus::NORMAL);
  if (lost_) {
    state_.set_state(Execution::LOST);
  } else {
    state_.set_state(Execution::EXITED);
    *state_.mutable_exit() =
        exit_.has_value() ? *exit_ : killed_.value_or(normal);
  }
  state_.mutable_end_time()->set_seconds(::time(nullptr));
  input_closed_ = true;
  mutex_.Signal();
}

bool FakeExecution::HasEnded() const {
  return state_.state() != Execution::RUNNING;
}

bool FakeExecution::Write(Stream stream, absl::string_view data) {
  const uint64_t retain = command_.output().has_retain_bytes()
                              ? command_.output().retain_bytes()
                              : kDefaultRetainBytes;
  const bool block =
      command_.output().overflow() == corral::v1::OutputPolicy::BLOCK;
  MutexLock lock(&mutex_);
  Log& log = logs_[stream];
  while (!data.empty()) {
    if (block) {
      mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return log.data.size() < retain || killed_;
      });
    }
    if (killed_) {
      return false;
    }
    const size_t room =
        block ? retain - log.data.size() : std::min<uint64_t>(retain, 1 << 20);
    const absl::string_view piece = data.substr(0, room);
    log.data.append(piece.data(), piece.size());
    data.remove_prefix(piece.size());
    if (log.data.size() > retain) {
      const size_t excess = log.data.size() - retain;
      log.data.erase(0, excess);
      log.begin += excess;
    }
    mutex_.Signal();
  }
  return true;
}

bool FakeExecution::Print(absl::string_view data) {
  return Write(
      command_.has_terminal() ? corral::v1::TERMINAL : corral::v1::STDOUT,
      data);
}

std::string FakeExecution::ReadInput(size_t size) {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !input_.empty() || input_ended_ || killed_;
  });
  std::string data = input_.substr(0, size);
  input_.erase(0, data.size());
  mutex_.Signal();
  return data;
}

void FakeExecution::CloseInput() {
  MutexLock lock(&mutex_);
  input_closed_ = true;
  mutex_.Signal();
}

void FakeExecution::CatchSignals() {
  MutexLock lock(&mutex_);
  catching_ = true;
}

int FakeExecution::WaitForSignal() {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !signals_.empty() || killed_;
  });
  if (signals_.empty()) {
    return SIGKILL;
  }
  const int signal = signals_.front();
  signals_.pop_front();
  return signal;
}

corral::v1::TerminalSize FakeExecution::WaitForResize() {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !sizes_.empty() || killed_;
  });
  if (sizes_.empty()) {
    return {};
  }
  corral::v1::TerminalSize size = sizes_.front();
  sizes_.pop_front();
  return size;
}

void FakeExecution::Hang() {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return killed_.has_value();
  });
}

void FakeExecution::SetExit(int code, ExitStatus::Cause cause) {
  MutexLock lock(&mutex_);
  exit_.emplace();
  exit_->set_code(code);
  exit_->set_cause(cause);
}

void FakeExecution::SetSignalled(int signal, ExitStatus::Cause cause) {
  MutexLock lock(&mutex_);
  exit_ = Signalled(signal, cause);
}

void FakeExecution::SetLost() {
  MutexLock lock(&mutex_);
  lost_ = true;
}

void FakeExecution::Expire() {
  MutexLock lock(&mutex_);
  for (auto& [stream, log] : logs_) {
    log.begin = log.end();
    log.data.clear();
    log.expired = true;
  }
}

Execution FakeExecution::SnapshotLocked() {
  Execution snapshot = state_;
  for (const auto& [stream, log] : logs_) {
    corral::v1::StreamState* state = snapshot.add_streams();
    state->set_stream(stream);
    state->set_begin_offset(log.begin);
    state->set_end_offset(log.end());
    state->set_closed(HasEnded());
    state->set_expired(log.expired);
  }
  snapshot.mutable_input()->set_accepted_offset(input_accepted_);
  snapshot.mutable_input()->set_closed(input_closed_ || input_ended_);
  return snapshot;
}

Execution FakeExecution::Snapshot() {
  MutexLock lock(&mutex_);
  return SnapshotLocked();
}

void FakeExecution::WaitForOutput(Stream stream, uint64_t end_offset) {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return logs_[stream].end() >= end_offset;
  });
}

bool FakeExecution::WaitUntilEnded() {
  MutexLock lock(&mutex_);
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return HasEnded() || interrupted_;
  });
  return HasEnded();
}

// Returns the next event that can be sent at once, if any.
std::optional<OutputEvent> FakeExecution::Advance(Cursors& cursors) {
  OutputEvent event;
  for (auto& [stream, cursor] : cursors) {
    const Log& log = logs_[stream];
    if (cursor < log.begin) {
      event.mutable_gap()->set_stream(stream);
      event.mutable_gap()->set_begin_offset(cursor);
      event.mutable_gap()->set_end_offset(log.begin);
      cursor = log.begin;
      return event;
    }
    if (cursor < log.end()) {
      corral::v1::Chunk* chunk = event.mutable_chunk();
      chunk->set_stream(stream);
      chunk->set_offset(cursor);
      chunk->set_data(log.data.substr(cursor - log.begin, kChunkBytes));
      cursor += chunk->data().size();
      return event;
    }
  }
  if (HasEnded()) {
    *event.mutable_ended() = SnapshotLocked();
    return event;
  }
  return std::nullopt;
}

bool FakeExecution::NextEvent(Cursors& cursors, bool no_follow,
                              std::optional<OutputEvent>& event) {
  MutexLock lock(&mutex_);
  event.reset();
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!interrupted_) {
      event = Advance(cursors);
    }
    return interrupted_ || event.has_value() || no_follow;
  });
  return !interrupted_;
}

corral::v1::ReadOutputResponse FakeExecution::Read(
    const corral::v1::ReadOutputRequest& request) {
  MutexLock lock(&mutex_);
  const Log& log = logs_[request.stream()];
  const uint64_t size = request.max_bytes() == 0 ? 65536 : request.max_bytes();
  const uint64_t tail = log.end() - std::min<uint64_t>(size, log.data.size());
  corral::v1::ReadOutputResponse response;
  response.set_offset(request.tail() ? tail
                                     : std::max(request.offset(), log.begin));
  response.set_data(log.data.substr(response.offset() - log.begin, size));
  *response.mutable_execution() = SnapshotLocked();
  response.mutable_execution()->clear_command();
  for (const auto& state : response.execution().streams()) {
    if (state.stream() == request.stream()) {
      *response.mutable_state() = state;
    }
  }
  return response;
}

void FakeExecution::Acknowledge(Stream stream, uint64_t offset) {
  MutexLock lock(&mutex_);
  Log& log = logs_[stream];
  if (command_.output().overflow() == corral::v1::OutputPolicy::BLOCK &&
      offset > log.begin) {
    log.data.erase(0, offset - log.begin);
    log.begin = offset;
    mutex_.Signal();
  }
}

grpc::Status FakeExecution::WriteInput(
    const corral::v1::WriteInputRequest& request,
    corral::v1::InputState* state) {
  MutexLock lock(&mutex_);
  const uint64_t begin =
      request.has_offset() ? request.offset() : input_accepted_;
  if (begin > input_accepted_) {
    return {grpc::StatusCode::OUT_OF_RANGE, "input: a gap"};
  }
  while (!interrupted_ && !input_closed_ && !input_ended_) {
    const uint64_t done = input_accepted_ - begin;
    if (done >= request.data().size()) {
      input_ended_ = input_ended_ || request.eof();
      break;
    }
    const std::string piece =
        request.data().substr(done, kPipeBytes - input_.size());
    input_ += piece;
    input_accepted_ += piece.size();
    mutex_.Signal();
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return input_.size() < kPipeBytes || interrupted_ || input_closed_;
    });
  }
  mutex_.Signal();
  state->set_accepted_offset(input_accepted_);
  state->set_closed(input_closed_ || input_ended_);
  return interrupted_
             ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "interrupted")
             : grpc::Status::OK;
}

grpc::Status FakeExecution::Signal(int signal, ExitStatus::Cause cause) {
  MutexLock lock(&mutex_);
  if (HasEnded()) {
    return Ended();
  }
  signals_.push_back(signal);
  if (!catching_ || signal == SIGKILL) {
    killed_ = Signalled(signal, cause);
  }
  mutex_.Signal();
  return grpc::Status::OK;
}

grpc::Status FakeExecution::Resize(const corral::v1::TerminalSize& size) {
  MutexLock lock(&mutex_);
  if (!command_.has_terminal()) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "no terminal"};
  }
  sizes_.push_back(size);
  mutex_.Signal();
  return grpc::Status::OK;
}

void FakeExecution::Interrupt(bool interrupted) {
  MutexLock lock(&mutex_);
  interrupted_ = interrupted;
  mutex_.Signal();
}

}  // namespace tests

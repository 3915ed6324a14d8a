#include "bridge/acp/remote/command_stream.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace bridge {

using corral::v1::OutputEvent;
using sandbox::MutexLock;

CommandStream::CommandStream(PollLoop* loop, client::Connection& connection,
                             const corral::v1::RunExecutionRequest& request,
                             absl::Duration limit, OnStarted on_started)
    : loop_(loop),
      start_limit_(limit),
      silence_limit_(connection.timing().stream_silence),
      request_(request),
      last_event_(absl::Now()),
      on_started_(std::move(on_started)) {
  connection.executions().async()->RunExecution(&context_, &request_, this);
  // Reads begin outside of reactions, too.
  AddHold();
  StartRead(&event_);
  StartCall();
  WatchSilence(std::min(start_limit_, silence_limit_));
}

CommandStream::~CommandStream() {
  bool reading = false;
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    reading = reading_;
  }
  context_.TryCancel();
  if (!reading) {
    LetEnd();
  }
  MutexLock lock(&mutex_);
  mutex_.Await([this]()
                   ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_; });
}

void CommandStream::Follow(OnEvent on_event, OnBroken on_broken) {
  callbacks_ = std::make_shared<Callbacks>(
      Callbacks{std::move(on_event), std::move(on_broken)});
  last_event_ = absl::Now();
  Read();
}

void CommandStream::Read() {
  {
    MutexLock lock(&mutex_);
    reading_ = true;
  }
  StartRead(&event_);
}

void CommandStream::LetEnd() {
  {
    MutexLock lock(&mutex_);
    if (!std::exchange(held_, false)) {
      return;
    }
  }
  RemoveHold();
}

void CommandStream::OnReadDone(bool ok) {
  bool first = false;
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    ok = ok && !stopped_;
    first = ok && !std::exchange(answered_, true);
  }
  if (!ok) {
    LetEnd();
  } else if (first) {
    started_ = std::move(*event_.mutable_opened());
    on_started_(grpc::Status::OK);
  } else {
    has_ended_ = event_.has_ended();
    loop_->Post(
        [this, alive = std::weak_ptr<bool>(alive_), event = std::move(event_)] {
          if (!alive.expired()) {
            Deliver(event);
          }
        });
  }
}

void CommandStream::Deliver(const OutputEvent& event) {
  last_event_ = absl::Now();
  const std::weak_ptr<bool> alive = alive_;
  if (event.has_chunk() || event.has_gap() || event.has_ended()) {
    // A copy, because the callback may destroy the stream.
    const std::shared_ptr<Callbacks> callbacks = callbacks_;
    callbacks->on_event(event);
  }
  if (!alive.expired()) {
    Read();
  }
}

void CommandStream::OnDone(const grpc::Status& status) {
  bool answered = false;
  bool silent = false;
  {
    MutexLock lock(&mutex_);
    answered = answered_;
    silent = silent_;
  }
  if (!answered) {
    on_started_(silent ? grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED,
                                      "no answer in time")
                       : status);
  } else if (!has_ended_) {
    loop_->Post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) {
        const std::shared_ptr<Callbacks> callbacks = callbacks_;
        callbacks->on_broken();
      }
    });
  }
  MutexLock lock(&mutex_);
  done_ = true;
  mutex_.Signal();
}

void CommandStream::WatchSilence(absl::Duration rest) {
  loop_->After(rest, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) {
      return;
    }
    absl::Duration limit = silence_limit_;
    {
      MutexLock lock(&mutex_);
      limit = answered_ ? silence_limit_ : start_limit_;
      if (done_) {
        return;
      }
    }
    const absl::Duration quiet = absl::Now() - last_event_;
    if (quiet < limit) {
      WatchSilence(limit - quiet);
      return;
    }
    {
      MutexLock lock(&mutex_);
      silent_ = true;
    }
    context_.TryCancel();
  });
}

}  // namespace bridge

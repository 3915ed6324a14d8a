#include "server/core/sandbox.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/ids.h"
#include "server/api/names.h"
#include "server/core/execution.h"
#include "server/core/lifetime.h"
#include "server/core/state_directory.h"

namespace server {

using sandbox::MutexLock;

namespace {

// A supervisor that cannot be connected to is tried more often than this.
constexpr absl::Duration kKnownRetry = absl::Milliseconds(500);

// The code of a failed sandbox's description.
absl::StatusCode CodeOf(wire::SandboxEnd::Cause cause) {
  switch (cause) {
    case wire::SandboxEnd::INIT_DIED:
    case wire::SandboxEnd::SPAWNER_DIED:
      return absl::StatusCode::kInternal;
    case wire::SandboxEnd::HOST_RESTARTED:
      return absl::StatusCode::kAborted;
    default:  // the sentinels of protobuf's open enums
      return absl::StatusCode::kUnavailable;
  }
}

// Of all that call the function, the first one's status counts.
std::function<void(const absl::Status&)> FirstOf(Sandbox::Done done) {
  auto called = std::make_shared<std::atomic<bool>>(false);
  auto shared = std::make_shared<Sandbox::Done>(std::move(done));
  return [called, shared](const absl::Status& status) {
    if (!called->exchange(true)) {
      Sandbox::Done first = std::move(*shared);
      first(status);
    }
  };
}

}  // namespace

Sandbox::Sandbox(wire::SandboxSpec spec, const Environment& environment)
    : spec_(std::move(spec)),
      environment_(environment),
      lifetime_(Lifetime::Create(environment.timers,
                                 absl::Nanoseconds(spec_.idle_timeout_ns()))) {}

void Sandbox::BeginLifetime() {
  absl::Duration age_left = absl::InfiniteDuration();
  if (spec_.max_age_ns() > 0) {
    // The wall clock, as nothing else is known after a restart; asked once.
    const absl::Duration max_age = absl::Nanoseconds(spec_.max_age_ns());
    const absl::Duration age =
        absl::Now() - absl::FromUnixNanos(spec_.create_time_ns());
    age_left = std::clamp(max_age - age, absl::ZeroDuration(), max_age);
  }
  lifetime_->Begin(age_left, [weak = weak_from_this()] {
    if (const std::shared_ptr<Sandbox> self = weak.lock(); self != nullptr) {
      LOG(INFO) << self->spec_.name() << ": its lifetime is over";
      self->Delete(wire::ExitRecord::SANDBOX_EXPIRED,
                   [](const absl::Status&) {});
    }
  });
}

void Sandbox::AwaitReady(Done ready) {
  absl::Status failure;
  {
    MutexLock lock(&mutex_);
    if (state_ == corral::v1::Sandbox::CREATING) {
      ready_waiters_.push_back(std::move(ready));
      return;
    }
    if (!creation_failure_.ok() && !deleted_) {
      deletion_waiters_.emplace_back(
          [ready = std::move(ready), failure = creation_failure_](
              const absl::Status&) mutable { ready(failure); });
      return;
    }
    failure = creation_failure_;
  }
  ready(failure);
}

corral::v1::Sandbox Sandbox::Describe() const {
  corral::v1::Sandbox description = FromSpec(spec_);
  MutexLock lock(&mutex_);
  description.set_state(state_);
  if (state_ == corral::v1::Sandbox::FAILED) {
    description.mutable_failure()->set_code(
        static_cast<int>(CodeOf(failure_.cause())));
    description.mutable_failure()->set_message(failure_.message());
  }
  return description;
}

uint32_t Sandbox::schema_version() const {
  MutexLock lock(&mutex_);
  return schema_version_;
}

std::shared_ptr<sandbox::SupervisorConnection> Sandbox::supervisor() const {
  MutexLock lock(&mutex_);
  return gone_ ? nullptr : supervisor_;
}

void Sandbox::AwaitKnown(Done known) {
  const std::function<void(const absl::Status&)> answer =
      FirstOf(std::move(known));
  bool waits = false;
  {
    MutexLock lock(&mutex_);
    waits = adopted_ && state_ == corral::v1::Sandbox::CREATING;
    if (waits) {
      ready_waiters_.emplace_back(answer);
    }
  }
  if (!waits) {
    answer(absl::OkStatus());
    return;
  }
  environment_.timers->RunAfter(kKnownPatience, [answer, name = spec_.name()] {
    answer(SandboxUnavailable(name, "its supervisor does not answer yet",
                              kKnownRetry));
  });
}

void Sandbox::OnCreated(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    created_ = true;
    if (!status.ok()) {
      state_ = corral::v1::Sandbox::DELETING;
      creation_failure_ = status;
      for (Done& ready : ready_waiters_) {
        deletion_waiters_.emplace_back(
            [ready = std::move(ready), status](const absl::Status&) mutable {
              ready(status);
            });
      }
      ready_waiters_.clear();
    }
  }
  MaybeReady();
}

void Sandbox::Attach(std::unique_ptr<sandbox::SupervisorConnection> sandbox) {
  {
    MutexLock lock(&mutex_);
    supervisor_ = std::move(sandbox);
    attached_ = true;
  }
  MaybeReady();
  MaybeEmptied();
}

void Sandbox::MaybeReady() {
  std::vector<Done> waiters;
  std::optional<wire::ExitRecord::Cause> deletion;
  {
    MutexLock lock(&mutex_);
    if (state_ != corral::v1::Sandbox::CREATING || !created_ || !attached_) {
      return;
    }
    state_ = corral::v1::Sandbox::READY;
    waiters = std::move(ready_waiters_);
    deletion = deletion_cause_;
  }
  for (Done& ready : waiters) {
    ready(absl::OkStatus());
  }
  if (deletion.has_value()) {
    Delete(*deletion, [](const absl::Status&) {});
  }
}

void Sandbox::Delete(wire::ExitRecord::Cause cause, Done done) {
  Done too_late;
  {
    MutexLock lock(&mutex_);
    if (deleted_) {
      too_late = std::move(done);
    } else {
      deletion_waiters_.push_back(std::move(done));
      deletion_cause_ = deletion_cause_.value_or(cause);
      if (state_ == corral::v1::Sandbox::CREATING ||
          state_ == corral::v1::Sandbox::DELETING) {
        return;  // MaybeReady and MaybeEmptied go on
      }
      state_ = corral::v1::Sandbox::DELETING;
    }
  }
  if (too_late != nullptr) {
    too_late(absl::OkStatus());
    return;
  }
  environment_.lanes->kills.Run(
      [self = shared_from_this()] { self->BeginDeletion(); });
}

void Sandbox::BeginDeletion() {
  wire::DeleteSandbox deletion;
  std::shared_ptr<sandbox::SupervisorConnection> supervisor;
  {
    MutexLock lock(&mutex_);
    deletion.set_cause(*deletion_cause_);
    supervisor = gone_ ? nullptr : supervisor_;
  }
  // Before the supervisor is told: a server that finds the sandbox goes on.
  const absl::Status written =
      StateDirectory::WriteDeletion(spec_.directory(), deletion);
  if (!written.ok() && !absl::IsNotFound(written)) {
    LOG(WARNING) << "deletion of " << spec_.name() << ": " << written.message();
  }
  if (supervisor != nullptr) {
    supervisor->DeleteSandbox(
        deletion.cause(), [name = spec_.name()](const absl::Status& status) {
          if (!status.ok()) {
            LOG(WARNING) << "deletion of " << name << ": " << status.message();
          }
        });
  }
  MaybeEmptied();
}

void Sandbox::MaybeEmptied() {
  {
    MutexLock lock(&mutex_);
    if (state_ != corral::v1::Sandbox::DELETING || !gone_ || !attached_ ||
        emptied_) {
      return;
    }
    emptied_ = true;
  }
  environment_.on_emptied(shared_from_this());
}

void Sandbox::FinishDeletion() {
  std::vector<Done> waiters;
  {
    MutexLock lock(&mutex_);
    deleted_ = true;
    waiters = std::move(deletion_waiters_);
  }
  for (Done& waiter : waiters) {
    waiter(absl::OkStatus());
  }
}

void Sandbox::BeginViewing() {
  MutexLock lock(&mutex_);
  ++viewers_;
  ++viewings_;
}

void Sandbox::EndViewing() {
  uint64_t viewings = 0;
  {
    MutexLock lock(&mutex_);
    --viewers_;
    viewings = viewings_;
    if (viewers_ > 0) {
      return;
    }
  }
  environment_.timers->RunAfter(
      kUnwatchedLifetime, [weak = weak_from_this(), viewings] {
        const std::shared_ptr<Sandbox> self = weak.lock();
        bool unwatched = false;
        if (self != nullptr) {
          MutexLock lock(&self->mutex_);
          unwatched = self->viewers_ == 0 && self->viewings_ == viewings;
        }
        if (unwatched) {
          self->Delete(wire::ExitRecord::SANDBOX_DELETED,
                       [](const absl::Status&) {});
        }
      });
}

}  // namespace server

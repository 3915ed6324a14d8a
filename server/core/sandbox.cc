#include "server/core/sandbox.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/ascii_text.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/lifetime.h"
#include "server/core/placeholders.h"
#include "server/core/retention.h"
#include "server/core/sandbox_state.h"
#include "server/core/viewers.h"

namespace server {

using sandbox::MutexLock;
using Event = SandboxState::Event;
using State = SandboxState::State;

namespace {

// The delay after which a client should retry when the recovery took too long.
constexpr absl::Duration kKnownRetry = absl::Milliseconds(500);

// Only the first call reaches `done`.
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

// Only the spec of a leftover has no age: see Sandboxes::RemoveLeftover().
Retention::Limits RetentionOf(const wire::SandboxSpec& spec) {
  if (spec.max_ended_age_ns() == 0) {
    return {SIZE_MAX, absl::InfiniteDuration()};
  }
  return {spec.max_ended_executions(),
          absl::Nanoseconds(spec.max_ended_age_ns())};
}

// Returns the id of the execution that has this name.
std::string LastIdOf(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

Sandbox::Sandbox(wire::SandboxSpec spec, const Environment& environment,
                 Origin origin)
    : spec_(std::move(spec)),
      environment_(environment),
      home_(std::make_shared<const ExecutionHome>(
          ExecutionHome{SandboxName(spec_.id()), spec_.directory()})),
      lifetime_(Lifetime::Create(
          environment.timers, {absl::Nanoseconds(spec_.idle_timeout_ns()),
                               absl::Nanoseconds(spec_.lease_timeout_ns())})),
      executions_(spec_.name(), environment.max_running),
      recovery_(origin == Origin::kNew ? Recovery::Phase::kDone
                                       : Recovery::Phase::kUnread),
      state_(origin == Origin::kNew ? State::kCreating : State::kRecovering),
      early_(std::in_place) {}

std::shared_ptr<Sandbox> Sandbox::Create(wire::SandboxSpec spec,
                                         const Environment& environment,
                                         Origin origin) {
  // make_shared cannot reach the constructor.
  std::shared_ptr<Sandbox> sandbox(
      new Sandbox(std::move(spec), environment, origin));
  const std::weak_ptr<Sandbox> weak = sandbox;
  sandbox->viewers_ = Viewers::Create(environment.timers, [weak] {
    if (const auto self = weak.lock(); self != nullptr) {
      self->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
    }
  });
  Retention::Executions executions;
  executions.in_use = [weak](const std::string& name) {
    const auto self = weak.lock();
    return self != nullptr && self->IsWatched(LastIdOf(name));
  };
  executions.remove = [weak](const std::string& name, Retention::Done done) {
    if (const auto self = weak.lock(); self != nullptr) {
      self->Evict(LastIdOf(name), std::move(done));
    }
  };
  sandbox->retention_ = Retention::Create(
      RetentionOf(sandbox->spec_), environment.timers, std::move(executions));
  std::vector<Retention::Suspension> suspensions;
  if (origin == Origin::kEarlierServer) {
    suspensions.emplace_back(sandbox->retention_);
    suspensions.emplace_back(environment.all_ended);
  }
  MutexLock lock(&sandbox->mutex_);
  sandbox->suspensions_ = std::move(suspensions);
  return sandbox;
}

void Sandbox::BeginLifetime() {
  absl::Duration age_left = absl::InfiniteDuration();
  if (spec_.max_age_ns() > 0) {
    // The wall clock, read once: only the time of creation survives a restart.
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

wire::SandboxSpec Sandbox::PresentSpec() const {
  wire::SandboxSpec spec = spec_;
  MutexLock lock(&mutex_);
  if (egress_rules_.has_value()) {
    *spec.mutable_egress()->mutable_policy()->mutable_rules() =
        egress_rules_->rules();
  }
  return spec;
}

void Sandbox::OnEgressRules(const wire::EgressRules& rules) {
  MutexLock lock(&mutex_);
  egress_rules_ = rules;
}

void Sandbox::OnMade(const wire::SandboxTrace& trace) {
  MutexLock lock(&mutex_);
  trace_ = trace;
}

corral::v1::Sandbox Sandbox::Describe() const {
  corral::v1::Sandbox description = FromSpec(PresentSpec());
  MutexLock lock(&mutex_);
  AddTrace(trace_, &description);
  creation_times_.AddTo(&description);
  description.set_state(state_.ToApi());
  if (state_.state() == State::kFailed) {
    description.mutable_failure()->set_code(
        static_cast<int>(CodeOf(failure_.cause())));
    description.mutable_failure()->set_message(AsciiText(failure_.message()));
  }
  return description;
}

void Sandbox::AwaitReady(Done ready) {
  absl::Status answer;
  {
    MutexLock lock(&mutex_);
    const bool being_removed =
        !creation_failure_.ok() && state_.state() != State::kRemoved;
    if (state_.pending() || being_removed) {
      ready_waiters_.push_back(std::move(ready));
      return;
    }
    answer = creation_failure_;
  }
  ready(answer);
}

void Sandbox::AwaitKnown(Done known) {
  const std::function<void(const absl::Status&)> answer =
      FirstOf(std::move(known));
  bool waits;
  {
    MutexLock lock(&mutex_);
    waits = state_.state() == State::kRecovering;
    if (waits) {
      ready_waiters_.emplace_back(answer);
    }
  }
  if (!waits) {
    answer(absl::OkStatus());
    return;
  }
  HurryRecords();
  environment_.timers->RunAfter(kKnownPatience, [answer, name = spec_.name()] {
    answer(SandboxUnavailable(
        name, "its records or its supervisor are not known yet", kKnownRetry));
  });
}

std::shared_ptr<sandbox::SupervisorConnection> Sandbox::supervisor() const {
  MutexLock lock(&mutex_);
  return state_.gone() ? nullptr : supervisor_;
}

bool Sandbox::gone() const {
  MutexLock lock(&mutex_);
  return state_.gone();
}

void Sandbox::OnAdmitted() {
  MutexLock lock(&mutex_);
  creation_times_.Admitted();
}

void Sandbox::OnRecorded() {
  MutexLock lock(&mutex_);
  creation_times_.Recorded();
}

void Sandbox::OnCreated(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    creation_times_.Made();
    creation_failure_ = status;
  }
  Handle(status.ok() ? Event::kMade : Event::kNotMade);
}

void Sandbox::Abandon(const absl::Status& error) {
  {
    MutexLock lock(&mutex_);
    creation_failure_ = error;
  }
  Handle(Event::kAbandoned);
  Attach(nullptr);
}

void Sandbox::OnGone(const wire::SandboxEnd& end) {
  environment_.storage->Set(spec_.name(), "");
  {
    MutexLock lock(&mutex_);
    gone_as_asked_ = end.cause() == wire::SandboxEnd::DELETED;
    failure_ = end;
    if (gone_as_asked_) {
      failure_.set_message("the supervisor ended");
    }
  }
  connections_.EndAll(ConnectionReset(spec_.name(), "the sandbox has ended"));
  if (end.cause() != wire::SandboxEnd::DELETED && HasReadOnlyPaths(spec_)) {
    environment_.timers->RunAfter(
        kPlaceholderDelay, [lanes = environment_.lanes, spec = spec_] {
          lanes->removals.Run([spec] { RemovePlaceholders(spec); });
        });
  }
  Handle(Event::kGone);
}

void Sandbox::RemoveLeftPlaceholders() const {
  {
    MutexLock lock(&mutex_);
    if (gone_as_asked_) {
      return;
    }
  }
  RemovePlaceholders(spec_);
}

void Sandbox::Delete(Cause cause, Done done) {
  {
    MutexLock lock(&mutex_);
    if (state_.state() != State::kRemoved) {
      removal_waiters_.push_back(std::move(done));
      done = nullptr;
    }
  }
  if (done != nullptr) {
    done(absl::OkStatus());
  } else {
    Handle(Event::kDeletionRequested, cause);
  }
}

void Sandbox::OnFilesRemoved() { Handle(Event::kFilesRemoved); }

}  // namespace server

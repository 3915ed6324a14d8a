#include "bridge/acp/sessions/session_sandbox.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

constexpr int64_t kLeaseSeconds = 120;
constexpr absl::Duration kRenewalInterval = absl::Seconds(40);

absl::Status SessionClosed() {
  return absl::CancelledError("the session is closed");
}

}  // namespace

SessionSandbox::SessionSandbox(ServerCalls* calls, Deletions* deletions,
                               corral::v1::Sandbox wanted)
    : calls_(calls), deletions_(deletions), wanted_(std::move(wanted)) {
  wanted_.mutable_lifetime()->mutable_lease_timeout()->set_seconds(
      kLeaseSeconds);
}

void SessionSandbox::Enter(State state, const std::string& name) {
  if (state_ == State::kDeleted) {
    return;
  }
  if (state_ == State::kReady) {
    given_up_.push_back(name_);
  }
  state_ = state;
  name_ = name;
}

void SessionSandbox::WhenReady(Done done) {
  switch (state_) {
    case State::kDeleted:
      done(SessionClosed());
      return;
    case State::kReady:
      done(name_);
      return;
    case State::kCreating:
      waiting_.push_back(std::move(done));
      return;
    case State::kNone:
      waiting_.push_back(std::move(done));
      Create();
      return;
  }
}

void SessionSandbox::Create() {
  Enter(State::kCreating);
  corral::v1::CreateSandboxRequest request;
  request.set_parent(client::kTenant);
  request.set_request_id(client::NewRequestId());
  *request.mutable_sandbox() = wanted_;
  calls_->CreateSandbox(
      request, [self = shared_from_this()](
                   const absl::StatusOr<corral::v1::Sandbox>& created) {
        self->OnCreated(created);
      });
}

void SessionSandbox::OnCreated(
    const absl::StatusOr<corral::v1::Sandbox>& created) {
  absl::StatusOr<std::string> answer = SessionClosed();
  if (!created.ok()) {
    LOG(ERROR) << "the session's sandbox was not created: " << created.status();
    answer = created.status();
    Enter(State::kNone);
  } else if (state_ == State::kDeleted) {
    deletions_->DeleteSandbox(created->name());
  } else {
    answer = created->name();
    Enter(State::kReady, created->name());
    RenewLease(created->name());
  }
  for (Done& done : std::exchange(waiting_, {})) {
    done(answer);
  }
}

void SessionSandbox::RenewLease(const std::string& name) {
  calls_->After(kRenewalInterval, [weak = weak_from_this(), name] {
    const std::shared_ptr<SessionSandbox> self = weak.lock();
    if (self != nullptr && self->name_ == name) {
      // Any call that names the sandbox will do. Its error does not matter: the
      // next command that needs the sandbox reports it.
      self->calls_->GetSandbox(name, [](const auto&) {});
      self->RenewLease(name);
    }
  });
}

void SessionSandbox::GiveUp(const std::string& name) {
  if (state_ == State::kReady && name_ == name) {
    Enter(State::kNone);
  }
}

void SessionSandbox::Delete() {
  Enter(State::kDeleted);
  for (const std::string& name : std::exchange(given_up_, {})) {
    deletions_->DeleteSandbox(name);
  }
}

}  // namespace bridge

#include "bridge/acp/sessions/session_sandbox.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "bridge/client/error_details.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

constexpr int64_t kLeaseSeconds = 120;

// The field of a refused further workspace; its index follows.
constexpr char kFurther[] = "sandbox.further_workspaces[";

absl::Status SessionClosed() {
  return absl::CancelledError("the session is closed");
}

}  // namespace

SessionSandbox::SessionSandbox(ServerCalls* calls, Deletions* deletions,
                               corral::v1::Sandbox wanted, std::string id,
                               absl::Duration renewal_interval)
    : calls_(calls),
      deletions_(deletions),
      wanted_(std::move(wanted)),
      id_(std::move(id)),
      renewal_interval_(renewal_interval) {
  SetLease(wanted_);
}

void SessionSandbox::SetLease(corral::v1::Sandbox& sandbox) {
  sandbox.mutable_lifetime()->mutable_lease_timeout()->set_seconds(
      kLeaseSeconds);
}

void SessionSandbox::Adopt(const std::string& name) {
  Enter(State::kReady, name);
  RenewLease(name);
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
  if (id_.empty() || given_up_.empty()) {
    Request();
    return;
  }
  // The next one has the same name.
  const std::string before = given_up_.back();
  calls_->DeleteSandbox(
      before, [self = shared_from_this()](const auto& deleted) {
        if (deleted.ok() || absl::IsNotFound(deleted.status())) {
          self->given_up_.clear();
          self->Request();
        } else {
          self->OnCreated(deleted.status());
        }
      });
}

void SessionSandbox::Request() {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(client::kTenant);
  if (id_.empty()) {
    request.set_request_id(client::NewRequestId());
  } else {
    request.set_sandbox_id(id_);
  }
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
  if (!created.ok() && state_ == State::kCreating &&
      DropWorkspace(created.status())) {
    Request();
    return;
  }
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
    on_made_(created->name());
  }
  for (Done& done : std::exchange(waiting_, {})) {
    done(answer);
  }
}

bool SessionSandbox::DropWorkspace(const absl::Status& refused) {
  const std::string field = client::GetField(refused);
  absl::string_view rest = field;
  int index = 0;
  if (!absl::ConsumePrefix(&rest, kFurther) ||
      !absl::SimpleAtoi(rest.substr(0, rest.find(']')), &index) || index < 0 ||
      index >= wanted_.further_workspaces_size()) {
    return false;
  }
  auto* const workspaces = wanted_.mutable_further_workspaces();
  missing_.push_back(absl::StrCat(workspaces->Get(index).path(), ": ",
                                  static_cast<std::string>(refused.message())));
  workspaces->DeleteSubrange(index, 1);
  return true;
}

void SessionSandbox::Revive() {
  switch (state_) {
    case State::kDeleted:
    case State::kCreating:
      return;
    case State::kNone:
      Create();
      return;
    case State::kReady:
      break;
  }
  calls_->GetSandbox(
      name_, [self = shared_from_this(),
              name = name_](const absl::StatusOr<corral::v1::Sandbox>& found) {
        const bool lives = found.ok()
                               ? found->state() == corral::v1::Sandbox::READY
                               : !absl::IsNotFound(found.status());
        if (!lives && self->name_ == name) {
          self->Create();
        }
      });
}

void SessionSandbox::RenewLease(const std::string& name) {
  calls_->After(renewal_interval_, [weak = weak_from_this(), name] {
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

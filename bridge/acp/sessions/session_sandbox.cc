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

constexpr int64_t kIdleTimeoutSeconds = 600;
constexpr absl::Duration kUseInterval = absl::Minutes(2);

void DeleteByName(ServerCalls& calls, const std::string& name) {
  calls.DeleteSandbox(name, [name](const auto& deleted) {
    if (!deleted.ok() && !absl::IsNotFound(deleted.status())) {
      LOG(WARNING) << name << " was not deleted: " << deleted.status();
    }
  });
}

}  // namespace

SessionSandbox::SessionSandbox(ServerCalls* calls, corral::v1::Sandbox wanted)
    : calls_(calls), wanted_(std::move(wanted)) {
  wanted_.mutable_lifetime()->mutable_idle_timeout()->set_seconds(
      kIdleTimeoutSeconds);
}

void SessionSandbox::KeepInUse(const std::string& name) {
  calls_->After(kUseInterval, [weak = weak_from_this(), name] {
    const std::shared_ptr<SessionSandbox> self = weak.lock();
    if (self != nullptr && self->name_ == name) {
      // Any call that names it will do; what is wrong with it shows when it is
      // needed.
      self->calls_->GetSandbox(name, [](const auto&) {});
      self->KeepInUse(name);
    }
  });
}

void SessionSandbox::WhenReady(Done done) {
  if (deleted_) {
    done(absl::CancelledError("the session is closed"));
    return;
  }
  if (!name_.empty()) {
    done(name_);
    return;
  }
  waiting_.push_back(std::move(done));
  if (creating_) {
    return;
  }
  creating_ = true;
  corral::v1::CreateSandboxRequest request;
  request.set_parent(client::kTenant);
  request.set_request_id(client::NewRequestId());
  *request.mutable_sandbox() = wanted_;
  calls_->CreateSandbox(request, [self = shared_from_this()](
                                     absl::StatusOr<corral::v1::Sandbox> made) {
    self->OnCreated(std::move(made));
  });
}

void SessionSandbox::OnCreated(absl::StatusOr<corral::v1::Sandbox> created) {
  creating_ = false;
  absl::StatusOr<std::string> answer =
      absl::CancelledError("the session is closed");
  if (!created.ok()) {
    LOG(ERROR) << "no sandbox: " << created.status();
    answer = created.status();
  } else if (deleted_) {
    DeleteByName(*calls_, created->name());
  } else {
    answer = name_ = created->name();
    KeepInUse(name_);
  }
  for (Done& done : std::exchange(waiting_, {})) {
    done(answer);
  }
}

void SessionSandbox::GiveUp(const std::string& name) {
  if (name_ == name) {
    given_up_.push_back(std::exchange(name_, ""));
  }
}

void SessionSandbox::Delete() {
  deleted_ = true;
  GiveUp(name_);
  for (const std::string& name : std::exchange(given_up_, {})) {
    if (!name.empty()) {
      DeleteByName(*calls_, name);
    }
  }
}

}  // namespace bridge

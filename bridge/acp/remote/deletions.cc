#include "bridge/acp/remote/deletions.h"

#include <utility>

#include "absl/status/status.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

// Longer than a command takes to start.
constexpr absl::Duration kSoon = absl::Milliseconds(20);

}  // namespace

bool IsUncertain(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

void Deletions::DeleteExecution(const std::string& name) {
  Delete(&ServerCalls::DeleteExecution, name);
}

void Deletions::DeleteExecutionSoon(const std::string& name) {
  if (repeating_ == nullptr) {
    DeleteExecution(name);
    return;
  }
  ++waiting_;
  const std::weak_ptr<bool> repeating = repeating_;
  calls_->After(kSoon, [this, repeating, name] {
    if (!repeating.expired()) {
      --waiting_;
      DeleteExecution(name);
    }
  });
}

void Deletions::Stop() {
  repeating_.reset();
  waiting_ = 0;
}

void Deletions::DeleteSandbox(const std::string& name) {
  Delete(&ServerCalls::DeleteSandbox, name);
}

void Deletions::Delete(Call call, const std::string& name) {
  const std::weak_ptr<bool> repeating = repeating_;
  (calls_->*call)(name, [this, repeating, call, name](const Answer& answer) {
    if (answer.ok() || absl::IsNotFound(answer.status())) {
      return;
    }
    LOG(WARNING) << name << " was not deleted: " << answer.status();
    if (repeating.expired() || !IsUncertain(answer.status())) {
      return;
    }
    calls_->After(interval_, [this, repeating, call, name] {
      if (!repeating.expired()) {
        Delete(call, name);
      }
    });
  });
}

}  // namespace bridge

#include "server/core/connections.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/mutex.h"
#include "server/api/errors.h"
#include "server/runtime/activity.h"

namespace server {

using sandbox::MutexLock;

absl::Status Connections::Add(LastingCall* call,
                              std::weak_ptr<LastingCall> owner) {
  MutexLock lock(&mutex_);
  if (!ended_.ok()) {
    return ended_;
  }
  if (calls_.size() >= kMost) {
    return QuotaExceeded(
        corral::v1::TOO_MANY_CONNECTIONS, "the sandbox",
        absl::StrCat("the sandbox has ", kMost,
                     " connections to its servers, and no more at one time"));
  }
  calls_.emplace(call, std::move(owner));
  return absl::OkStatus();
}

void Connections::Remove(LastingCall* call) {
  MutexLock lock(&mutex_);
  calls_.erase(call);
}

void Connections::EndAll(const absl::Status& why) {
  std::map<LastingCall*, std::weak_ptr<LastingCall>> calls;
  {
    MutexLock lock(&mutex_);
    ended_ = why;
    calls.swap(calls_);
  }
  for (const auto& [call, owner] : calls) {
    if (const auto living = owner.lock(); living != nullptr) {
      living->Fail(why);
    }
  }
}

}  // namespace server

#include "server/core/registry.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/ids.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "server/core/sandbox.h"

namespace server {

using sandbox::MutexLock;

absl::StatusOr<Registry::SandboxPtr> Registry::FindSame(
    const std::string& id,
    const sandbox::wire::RequestIdentity& request) const {
  const auto made = by_request_.find(request.request_id());
  if (!request.request_id().empty() && made != by_request_.end()) {
    if (!AreSame(made->second->spec().request(), request)) {
      return RequestMismatch(request.request_id(), made->second->spec().name());
    }
    return made->second;
  }
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) {
    return nullptr;
  }
  if (!AreSame(found->second->spec().request(), request)) {
    return SandboxExists(SandboxName(id).ToString());
  }
  return found->second;
}

absl::StatusOr<Registry::Added> Registry::Add(
    const std::string& id, const sandbox::wire::RequestIdentity& request,
    const Make& make) {
  const std::string chosen = id.empty() ? MakeId() : id;
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(SandboxPtr same, FindSame(chosen, request));
  if (same != nullptr) {
    return Added{std::move(same), /*is_new=*/false};
  }
  if (sandboxes_.size() >= max_sandboxes_) {
    return QuotaExceeded(
        corral::v1::TOO_MANY_SANDBOXES, kTenantName,
        absl::StrCat("at most ", max_sandboxes_, " sandboxes exist at a time"));
  }
  SandboxPtr sandbox = make(chosen);
  const uint64_t wanted = sandbox->spec().output_bytes();
  if (max_output_bytes_ != 0 &&
      (wanted == 0 || output_bytes_ > max_output_bytes_ ||
       wanted > max_output_bytes_ - output_bytes_)) {
    return QuotaExceeded(
        corral::v1::TOO_MUCH_OUTPUT, kTenantName,
        absl::StrCat("the output of all sandboxes may take ", max_output_bytes_,
                     " bytes, of which ", output_bytes_,
                     " are given; limits.output_bytes is ",
                     wanted == 0 ? "no limit" : absl::StrCat(wanted)));
  }
  Insert(sandbox);
  return Added{std::move(sandbox), /*is_new=*/true};
}

bool Registry::AddExisting(const SandboxPtr& sandbox) {
  MutexLock lock(&mutex_);
  return Insert(sandbox);
}

bool Registry::Insert(const SandboxPtr& sandbox) {
  if (!sandboxes_.emplace(sandbox->id(), sandbox).second) {
    return false;
  }
  output_bytes_ += sandbox->spec().output_bytes();
  const std::string& request_id = sandbox->spec().request().request_id();
  if (!request_id.empty()) {
    by_request_.emplace(request_id, sandbox);
  }
  return true;
}

void Registry::Remove(const Sandbox& sandbox) {
  SandboxPtr removed;  // destroyed without the lock
  MutexLock lock(&mutex_);
  const auto found = sandboxes_.find(sandbox.id());
  if (found == sandboxes_.end() || found->second.get() != &sandbox) {
    return;
  }
  removed = std::move(found->second);
  sandboxes_.erase(found);
  output_bytes_ -= sandbox.spec().output_bytes();
  const auto made = by_request_.find(sandbox.spec().request().request_id());
  if (made != by_request_.end() && made->second.get() == &sandbox) {
    by_request_.erase(made);
  }
}

Registry::SandboxPtr Registry::Find(const std::string& id) const {
  MutexLock lock(&mutex_);
  const auto found = sandboxes_.find(id);
  return found == sandboxes_.end() ? nullptr : found->second;
}

std::vector<Registry::SandboxPtr> Registry::List(const std::string& first,
                                                 size_t limit) const {
  std::vector<SandboxPtr> page;
  MutexLock lock(&mutex_);
  for (auto entry = sandboxes_.lower_bound(first);
       entry != sandboxes_.end() && page.size() < limit; ++entry) {
    page.push_back(entry->second);
  }
  return page;
}

size_t Registry::size() const {
  MutexLock lock(&mutex_);
  return sandboxes_.size();
}

}  // namespace server

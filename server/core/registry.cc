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
#include "server/api/errors.h"
#include "server/api/ids.h"
#include "server/api/names.h"
#include "server/core/request_table.h"
#include "server/core/sandbox.h"

namespace server {

using sandbox::MutexLock;

absl::StatusOr<Registry::Added> Registry::Add(
    const std::string& id, const sandbox::wire::RequestIdentity& request,
    const Make& make) {
  const std::string chosen = id.empty() ? MakeId() : id;
  MutexLock lock(&mutex_);
  RequestTable<Sandbox>::Found found = sandboxes_.FindSame(chosen, request);
  switch (found.match) {
    case RequestTable<Sandbox>::Match::kNone:
      break;
    case RequestTable<Sandbox>::Match::kSame:
      return Added{std::move(found.resource), /*is_new=*/false};
    case RequestTable<Sandbox>::Match::kOtherRequest:
      return RequestMismatch(request.request_id(),
                             found.resource->spec().name());
    case RequestTable<Sandbox>::Match::kIdTaken:
      return SandboxExists(found.resource->spec().name());
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
  if (!sandboxes_.Insert(sandbox->id(), sandbox)) {
    return false;
  }
  output_bytes_ += sandbox->spec().output_bytes();
  return true;
}

void Registry::Remove(const Sandbox& sandbox) {
  SandboxPtr removed;  // destroyed without the lock
  MutexLock lock(&mutex_);
  if (sandboxes_.Find(sandbox.id()).get() == &sandbox) {
    removed = sandboxes_.Erase(sandbox.id());
    output_bytes_ -= sandbox.spec().output_bytes();
  }
}

Registry::SandboxPtr Registry::Find(const std::string& id) const {
  MutexLock lock(&mutex_);
  return sandboxes_.Find(id);
}

std::vector<Registry::SandboxPtr> Registry::List(const std::string& first,
                                                 size_t limit) const {
  MutexLock lock(&mutex_);
  return sandboxes_.ListFrom(first, limit);
}

size_t Registry::size() const {
  MutexLock lock(&mutex_);
  return sandboxes_.size();
}

}  // namespace server

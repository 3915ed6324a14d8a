#include "server/core/registry.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/ids.h"
#include "server/api/names.h"
#include "server/core/request_table.h"
#include "server/core/sandbox.h"

namespace server {

using sandbox::MutexLock;

namespace {

// How soon a client may ask again for a sandbox that cannot be read.
constexpr absl::Duration kReadRetry = absl::Milliseconds(500);

absl::Status Unreachable(const SandboxName& name) {
  return SandboxUnavailable(name.ToString(), "its directory cannot be read yet",
                            kReadRetry);
}

// Fails if `wanted` more than `given` would exceed `most`; 0 means no limit.
// `what` is counted, in limits.`field`.
absl::Status CheckTotal(corral::v1::ErrorReason reason, absl::string_view what,
                        absl::string_view field, uint64_t most, uint64_t given,
                        uint64_t wanted) {
  if (most == 0 || (wanted != 0 && given <= most && wanted <= most - given)) {
    return absl::OkStatus();
  }
  return QuotaExceeded(
      reason, kTenantName,
      absl::StrCat("all sandboxes together may have ", most, " ", what,
                   ", of which ", given, " are given; sandbox.limits.", field,
                   " is ", wanted == 0 ? "no limit" : absl::StrCat(wanted)));
}

}  // namespace

absl::StatusOr<Registry::Added> Registry::Add(
    const std::string& id, const sandbox::wire::RequestIdentity& request,
    const Make& make) {
  std::string chosen = id;
  if (chosen.empty()) {
    // A repeated request must find its sandbox also before that can be read.
    chosen = request.request_id().empty() ? MakeId() : IdOf(request.digest());
  }
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
      if (!id.empty()) {
        return SandboxExists(found.resource->spec().name());
      }
      chosen = MakeId();
      break;
  }
  if (reserved_.count(chosen) != 0) {
    return Unreachable(SandboxName(chosen));
  }
  if (sandboxes_.size() + reserved_.size() >= max_sandboxes_) {
    return QuotaExceeded(
        corral::v1::TOO_MANY_SANDBOXES, kTenantName,
        absl::StrCat("at most ", max_sandboxes_, " sandboxes exist at a time"));
  }
  SandboxPtr sandbox = make(chosen);
  RETURN_IF_ERROR(CheckTotals(*sandbox));
  Insert(sandbox);
  return Added{std::move(sandbox), /*is_new=*/true};
}

absl::Status Registry::CheckTotals(const Sandbox& sandbox) const {
  const wire::SandboxSpec& spec = sandbox.spec();
  RETURN_IF_ERROR(CheckTotal(corral::v1::TOO_MUCH_OUTPUT, "bytes of output",
                             "output_bytes", most_.output_bytes,
                             given_.output_bytes, spec.output_bytes()));
  RETURN_IF_ERROR(CheckTotal(corral::v1::TOO_MUCH_MEMORY, "bytes of memory",
                             "memory_bytes", most_.memory_bytes,
                             given_.memory_bytes, spec.memory_bytes()));
  return CheckTotal(corral::v1::TOO_MANY_PIDS, "processes", "pids", most_.pids,
                    given_.pids, spec.pids());
}

void Registry::Reserve(const std::string& id) {
  MutexLock lock(&mutex_);
  reserved_.insert(id);
}

void Registry::Free(const std::string& id) {
  MutexLock lock(&mutex_);
  reserved_.erase(id);
}

bool Registry::AddExisting(const SandboxPtr& sandbox) {
  MutexLock lock(&mutex_);
  reserved_.erase(sandbox->id());
  return Insert(sandbox);
}

bool Registry::Insert(const SandboxPtr& sandbox) {
  if (!sandboxes_.Insert(sandbox)) {
    return false;
  }
  given_.output_bytes += sandbox->spec().output_bytes();
  given_.memory_bytes += sandbox->spec().memory_bytes();
  given_.pids += sandbox->spec().pids();
  return true;
}

void Registry::Remove(const Sandbox& sandbox) {
  SandboxPtr removed;  // destroyed without the lock
  MutexLock lock(&mutex_);
  if (sandboxes_.Find(sandbox.id()).get() == &sandbox) {
    removed = sandboxes_.Erase(sandbox.id());
    given_.output_bytes -= sandbox.spec().output_bytes();
    given_.memory_bytes -= sandbox.spec().memory_bytes();
    given_.pids -= sandbox.spec().pids();
  }
}

Registry::SandboxPtr Registry::Find(const std::string& id) const {
  MutexLock lock(&mutex_);
  return sandboxes_.Find(id);
}

absl::StatusOr<Registry::SandboxPtr> Registry::Get(
    const SandboxName& name) const {
  MutexLock lock(&mutex_);
  SandboxPtr found = sandboxes_.Find(name.id());
  if (found != nullptr) {
    return found;
  }
  return reserved_.count(name.id()) == 0 ? SandboxNotFound(name.ToString())
                                         : Unreachable(name);
}

std::vector<std::string> Registry::Unreadable() const {
  MutexLock lock(&mutex_);
  return {reserved_.begin(), reserved_.end()};
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

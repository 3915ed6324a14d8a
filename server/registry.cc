#include "server/registry.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/mutex.h"
#include "server/errors.h"
#include "server/ids.h"
#include "server/names.h"
#include "server/session.h"

namespace server {

using sandbox::MutexLock;

absl::StatusOr<Registry::SessionPtr> Registry::Add(const std::string& id,
                                                   const Make& make) {
  const std::string chosen = id.empty() ? MakeId() : id;
  MutexLock lock(&mutex_);
  if (sessions_.count(chosen) != 0) {
    return SandboxExists(FormatSandboxName(chosen));
  }
  if (sessions_.size() >= max_sandboxes_) {
    return QuotaExceeded(
        corral::v1::TOO_MANY_SANDBOXES, kTenantName,
        absl::StrCat("at most ", max_sandboxes_, " sandboxes exist at a time"));
  }
  SessionPtr session = make(chosen);
  sessions_.emplace(chosen, session);
  return session;
}

bool Registry::AddExisting(const SessionPtr& session) {
  MutexLock lock(&mutex_);
  return sessions_.emplace(session->id(), session).second;
}

void Registry::Remove(const Session& session) {
  SessionPtr removed;  // destroyed without the lock
  MutexLock lock(&mutex_);
  const auto found = sessions_.find(session.id());
  if (found != sessions_.end() && found->second.get() == &session) {
    removed = std::move(found->second);
    sessions_.erase(found);
  }
}

Registry::SessionPtr Registry::Find(const std::string& id) const {
  MutexLock lock(&mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

std::vector<Registry::SessionPtr> Registry::List(const std::string& first,
                                                 size_t limit) const {
  std::vector<SessionPtr> page;
  MutexLock lock(&mutex_);
  for (auto entry = sessions_.lower_bound(first);
       entry != sessions_.end() && page.size() < limit; ++entry) {
    page.push_back(entry->second);
  }
  return page;
}

size_t Registry::size() const {
  MutexLock lock(&mutex_);
  return sessions_.size();
}

}  // namespace server

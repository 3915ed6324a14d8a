// The sandboxes that exist, by id.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_REGISTRY_H_
#define SERVER_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sandbox/base/mutex.h"
#include "server/session.h"

namespace server {

class Registry {
 public:
  using SessionPtr = std::shared_ptr<Session>;
  // Makes the session with this id. Must be quick, and not come back here.
  using Make = std::function<SessionPtr(const std::string& id)>;

  explicit Registry(uint32_t max_sandboxes) : max_sandboxes_(max_sandboxes) {}

  // Empty `id`: one is made up. SANDBOX_EXISTS, TOO_MANY_SANDBOXES.
  absl::StatusOr<SessionPtr> Add(const std::string& id, const Make& make);

  // A session of an earlier server. False: its id is taken.
  bool AddExisting(const SessionPtr& session);

  void Remove(const Session& session);

  // Null: there is none.
  SessionPtr Find(const std::string& id) const;

  // At most `limit` sandboxes with ids from `first` on, in their order.
  std::vector<SessionPtr> List(const std::string& first, size_t limit) const;
  size_t size() const;

 private:
  const uint32_t max_sandboxes_;
  mutable sandbox::Mutex mutex_;
  std::map<std::string, SessionPtr> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_REGISTRY_H_

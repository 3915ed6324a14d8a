// The sandboxes that exist, by id. For some, only the id is known: an earlier
// server made them, and their descriptions cannot be read yet.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_REGISTRY_H_
#define SERVER_CORE_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/names.h"
#include "server/core/request_table.h"
#include "server/core/sandbox.h"

namespace server {

class Registry {
 public:
  using SandboxPtr = std::shared_ptr<Sandbox>;
  // Makes the sandbox with this id. Must be quick, and must not use the
  // registry.
  using Make = std::function<SandboxPtr(const std::string& id)>;

  struct Added {
    SandboxPtr sandbox;
    // False if an earlier call with the same request made it.
    bool is_new;
  };

  // Limits for the sums of the limits of all sandboxes; 0: no limit.
  struct Totals {
    uint64_t output_bytes = 0;
    uint64_t memory_bytes = 0;
    uint64_t pids = 0;
  };

  Registry(uint32_t max_sandboxes, const Totals& most)
      : max_sandboxes_(max_sandboxes), most_(most) {}

  // Finds the sandbox that the same request made, or adds a new one from
  // `make`. The registry chooses an id if `id` is empty. Fails with
  // SANDBOX_EXISTS, REQUEST_MISMATCH, TOO_MANY_SANDBOXES, TOO_MUCH_OUTPUT,
  // TOO_MUCH_MEMORY or TOO_MANY_PIDS, and with SANDBOX_NOT_READY (UNAVAILABLE)
  // if that id belongs to a sandbox that cannot be read yet.
  absl::StatusOr<Added> Add(const std::string& id,
                            const sandbox::wire::RequestIdentity& request,
                            const Make& make);

  // Keeps the id of an earlier server's sandbox until AddExisting() or Free().
  void Reserve(const std::string& id);
  void Free(const std::string& id);

  // Adds a sandbox of an earlier server, whatever the limits. Returns false if
  // its id is taken.
  bool AddExisting(const SandboxPtr& sandbox);

  void Remove(const Sandbox& sandbox);

  // Returns null if there is none, or if it cannot be read yet.
  SandboxPtr Find(const std::string& id) const;

  // Fails with SANDBOX_NOT_FOUND, or with SANDBOX_NOT_READY (UNAVAILABLE) if it
  // cannot be read yet.
  absl::StatusOr<SandboxPtr> Get(const SandboxName& name) const;

  // The ids of sandboxes that cannot be read yet, in their order.
  std::vector<std::string> Unreadable() const;

  // At most `limit` sandboxes with ids from `first` on, in their order.
  std::vector<SandboxPtr> List(const std::string& first, size_t limit) const;
  size_t size() const;

 private:
  bool Insert(const SandboxPtr& sandbox) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTotals(const Sandbox& sandbox) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t max_sandboxes_;
  const Totals most_;
  mutable sandbox::Mutex mutex_;
  RequestTable<Sandbox> sandboxes_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> reserved_ ABSL_GUARDED_BY(mutex_);
  // The sums of the sandboxes' limits.
  Totals given_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_REGISTRY_H_

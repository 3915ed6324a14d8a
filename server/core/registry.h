// The sandboxes that exist, by id.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_REGISTRY_H_
#define SERVER_CORE_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
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
    // False: an earlier call with the same request made it.
    bool is_new;
  };

  // `max_output_bytes`: the most output of all sandboxes together; 0: no limit.
  Registry(uint32_t max_sandboxes, uint64_t max_output_bytes)
      : max_sandboxes_(max_sandboxes), max_output_bytes_(max_output_bytes) {}

  // Finds the sandbox that the same request made, or adds a new one that `make`
  // makes. The registry chooses an id if `id` is empty. SANDBOX_EXISTS,
  // REQUEST_MISMATCH, TOO_MANY_SANDBOXES, TOO_MUCH_OUTPUT.
  absl::StatusOr<Added> Add(const std::string& id,
                            const sandbox::wire::RequestIdentity& request,
                            const Make& make);

  // Adds a sandbox of an earlier server, whatever the limits. Returns false if
  // its id is taken.
  bool AddExisting(const SandboxPtr& sandbox);

  void Remove(const Sandbox& sandbox);

  // Null: there is none.
  SandboxPtr Find(const std::string& id) const;

  // At most `limit` sandboxes with ids from `first` on, in their order.
  std::vector<SandboxPtr> List(const std::string& first, size_t limit) const;
  size_t size() const;

 private:
  bool Insert(const SandboxPtr& sandbox) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t max_sandboxes_;
  const uint64_t max_output_bytes_;
  mutable sandbox::Mutex mutex_;
  RequestTable<Sandbox> sandboxes_ ABSL_GUARDED_BY(mutex_);
  // The sum of the sandboxes' limits.output_bytes.
  uint64_t output_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_REGISTRY_H_

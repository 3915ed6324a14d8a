// The ids of an idmapped mount.

#ifndef SANDBOX_KERNEL_OWNER_MAP_H_
#define SANDBOX_KERNEL_OWNER_MAP_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Returns a user namespace for an idmapped mount. On such a mount, files of
// user `owner` and group `group` belong to the ids first_id + inside, and files
// that these ids create belong to the owner.
absl::StatusOr<UniqueFd> OwnerMap(uid_t owner, gid_t group, uint32_t first_id,
                                  uint32_t inside);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_OWNER_MAP_H_

// A range of kIdRange user and group ids of the host that one sandbox has and
// nobody else, whichever server made it.
//
// Held by a lock on a file in /run/corral/ids, which the kernel gives back when
// the holder ends.

#ifndef SANDBOX_KERNEL_ID_RANGE_H_
#define SANDBOX_KERNEL_ID_RANGE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class IdRange {
 public:
  IdRange() = default;

  // A free range. SHORTAGE: all are taken.
  static absl::StatusOr<IdRange> Acquire();
  // The one that begins there. Unavailable: it is taken. NotFound: there is
  // none, or nobody ever had it.
  static absl::StatusOr<IdRange> TryAcquire(uint32_t first_id);

  uint32_t first_id() const { return first_id_; }

 private:
  IdRange(uint32_t first_id, UniqueFd lock)
      : first_id_(first_id), lock_(std::move(lock)) {}

  uint32_t first_id_ = 0;
  UniqueFd lock_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ID_RANGE_H_

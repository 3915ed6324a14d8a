// A range of kIdRange user and group ids of the host that belongs to one
// sandbox alone, whichever server made it.
//
// Held by a lock on a file in /run/corral/ids, which the kernel releases when
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

  // Takes a free range. Fails with SHORTAGE if there is none.
  static absl::StatusOr<IdRange> Acquire();
  // Takes the range that begins at `first_id`. Fails with Unavailable if it is
  // held, and with NotFound if there is no such range, or if it was never held.
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

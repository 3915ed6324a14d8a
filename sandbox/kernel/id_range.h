// A range of kIdRange user and group ids of the host that belongs to one
// sandbox alone, whichever server made it.
//
// Held by a lock on a file in /run/corral/ids, which the kernel releases when
// the holder ends. The file shows that something of a sandbox with these ids
// may be left, such as its control groups. Only the holder removes it.

#ifndef SANDBOX_KERNEL_ID_RANGE_H_
#define SANDBOX_KERNEL_ID_RANGE_H_

#include <cstdint>
#include <set>
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
  // Returns the first ids of all ranges that have a file, held or not.
  static std::set<uint32_t> List();

  // Frees the range and removes its file. To be called when nothing of the
  // sandbox is left. Does nothing without a range.
  void Release();

  uint32_t first_id() const { return first_id_; }

 private:
  IdRange(uint32_t first_id, UniqueFd lock)
      : first_id_(first_id), lock_(std::move(lock)) {}

  uint32_t first_id_ = 0;
  UniqueFd lock_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ID_RANGE_H_

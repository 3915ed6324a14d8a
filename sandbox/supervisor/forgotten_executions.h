// The executions that have ended and of which only the files are left. Their
// files say what they were, so that in memory each takes eight bytes: a hash of
// its id, and what its output takes of the quota. In the order in which they
// were added.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_FORGOTTEN_EXECUTIONS_H_
#define SANDBOX_SUPERVISOR_FORGOTTEN_EXECUTIONS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandbox {

class ForgottenExecutions {
 public:
  static uint32_t HashOf(absl::string_view id);

  // `charge`: the bytes of disk that stay charged to the quota. Returns false
  // and does nothing if another one has the same hash, or if 32 bits do not say
  // the charge.
  bool Add(absl::string_view id, uint64_t charge);
  // True if there is one with the hash of this id. An id that was never here
  // may have the same: the files show that.
  bool MayHave(absl::string_view id) const { return Find(id) != traces_.end(); }
  // Removes an execution and returns its charge. Only if MayHave().
  uint32_t Take(absl::string_view id);

  // Returns the id of the first one whose output is charged. `list` returns the
  // ids of all executions on the disk that may be here, and is not called each
  // time. Fails with NotFound if there is none, and as `list` does.
  using List = std::function<absl::StatusOr<std::vector<std::string>>()>;
  absl::StatusOr<std::string> FirstCharged(const List& list);

  // The hashes of all, sorted.
  std::vector<uint32_t> Hashes() const;
  bool empty() const { return traces_.empty(); }
  void Clear() { traces_.clear(); }

 private:
  struct Trace {
    uint32_t hash;
    uint32_t charge;
  };

  std::deque<Trace>::const_iterator Find(absl::string_view id) const;
  // Makes `next_` of the ids.
  void FindNext(const std::vector<std::string>& ids);

  // No two have the same hash. Grows by 512 bytes, and never copies.
  std::deque<Trace> traces_;
  // The ids of the first ones whose output is charged, as far as they are
  // known. Some may not be here any more.
  std::deque<std::string> next_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_FORGOTTEN_EXECUTIONS_H_

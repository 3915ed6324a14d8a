// The ids that /etc/subuid and /etc/subgid give to a user, whom newuidmap(1)
// and newgidmap(1) let map them in a user namespace.

#ifndef SANDBOX_KERNEL_SUBORDINATE_IDS_H_
#define SANDBOX_KERNEL_SUBORDINATE_IDS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct Subordinates {
  uint32_t first = 0;
  uint32_t count = 0;
};

// Returns the first range that `text`, which has the form of subuid(5), gives
// to the user: lines "NAME-OR-ID:FIRST:COUNT". `name` may be empty.
std::optional<Subordinates> FindSubordinates(absl::string_view text,
                                             absl::string_view name,
                                             uid_t user);

// Returns the name of a user in `text`, which has the form of passwd(5); "" if
// there is none.
std::string FindUserName(absl::string_view text, uid_t user);

// A process that maps the ids of its parent's next user namespace. It must
// exist before that namespace: the programs work only from outside of it.
class SubordinateIds {
 public:
  // Starts it. Returns no value if the host lacks the programs, or has no ids
  // for the user of this process, which must have one thread.
  static std::optional<SubordinateIds> Prepare();

  SubordinateIds(SubordinateIds&&) noexcept = default;
  SubordinateIds& operator=(SubordinateIds&&) = delete;
  ~SubordinateIds();

  // Maps the user's own ids to 0, and the others to those from 1 on. Returns
  // false if that failed; one of the two maps may then be written.
  bool Map();

 private:
  SubordinateIds(pid_t pid, UniqueFd go) : pid_(pid), go_(std::move(go)) {}

  pid_t pid_;
  // The process waits for a byte here. Invalid if the object was moved from, or
  // the process was reaped.
  UniqueFd go_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_SUBORDINATE_IDS_H_

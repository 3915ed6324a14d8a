// How a process of a sandbox becomes corral-init; see ../init.

#ifndef SANDBOX_SUPERVISOR_INIT_PROGRAM_H_
#define SANDBOX_SUPERVISOR_INIT_PROGRAM_H_

#include <initializer_list>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Returns the program, sealed: what runs inside can never be written, and no
// file of the host is executed there.
absl::StatusOr<UniqueFd> MakeImage();

// Returns the memory that supervisor and spawner share; see ../init/exchange.h.
absl::StatusOr<UniqueFd> MakeExchange();

// In a child: puts /dev/null on 0 to 2 and `fds` on 3 and up; all else closes
// on exec.
absl::Status ArrangeFds(std::initializer_list<int> fds);

// In a child: executes the program. `name` selects its role. Returns only if
// that fails.
absl::Status ExecuteImage(int image, const char* name);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_INIT_PROGRAM_H_

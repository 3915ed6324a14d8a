// A process that outlives the one that starts it: a daemon.

#ifndef BRIDGE_CLIENT_DETACHED_PROCESS_H_
#define BRIDGE_CLIENT_DETACHED_PROCESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace client {

// Executes argv[0] (a path) in a session of its own, in /, with no descriptors
// but /dev/null as input and `output` as output and error, with default signal
// dispositions; init becomes its parent. Returns a pidfd, readable when it has
// ended. The error is that of fork or exec.
absl::StatusOr<sandbox::UniqueFd> StartDetached(
    const std::vector<std::string>& argv, const sandbox::UniqueFd& output);

}  // namespace client

#endif  // BRIDGE_CLIENT_DETACHED_PROCESS_H_

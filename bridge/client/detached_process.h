// Starts a daemon: a process that outlives the one that starts it.

#ifndef BRIDGE_CLIENT_DETACHED_PROCESS_H_
#define BRIDGE_CLIENT_DETACHED_PROCESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace client {

// Executes argv[0] (a path) in a session of its own, in the directory /, with
// default signal dispositions. Its only descriptors are /dev/null as input and
// `output` as output and error. Init becomes its parent. Returns a pidfd, which
// is readable when the process has ended, or the error of fork or exec.
absl::StatusOr<sandbox::UniqueFd> StartDetached(
    const std::vector<std::string>& argv, const sandbox::UniqueFd& output);

}  // namespace client

#endif  // BRIDGE_CLIENT_DETACHED_PROCESS_H_

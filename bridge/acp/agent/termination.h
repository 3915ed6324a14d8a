#ifndef BRIDGE_ACP_AGENT_TERMINATION_H_
#define BRIDGE_ACP_AGENT_TERMINATION_H_

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// From now on SIGTERM, SIGINT and SIGHUP make the returned descriptor readable
// instead of ending this process, and a broken pipe is only an error of
// write(2). Programs that are executed get the default dispositions. Call once
// in a process.
absl::StatusOr<sandbox::UniqueFd> CatchTermination();

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_TERMINATION_H_

#ifndef BRIDGE_ACP_AGENT_TERMINATION_H_
#define BRIDGE_ACP_AGENT_TERMINATION_H_

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// From now on SIGTERM, SIGINT and SIGHUP don't end this process but make the
// returned descriptor readable, and SIGPIPE is an error of write(2) only.
// Programs that are executed start with the default again. Once in a process.
absl::StatusOr<sandbox::UniqueFd> CatchTermination();

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_TERMINATION_H_

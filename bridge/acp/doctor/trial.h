// A short command in a sandbox, to see what works there.

#ifndef BRIDGE_ACP_DOCTOR_TRIAL_H_
#define BRIDGE_ACP_DOCTOR_TRIAL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// The result of a check: what was found, or why it failed and what to do.
using Finding = absl::StatusOr<std::string>;

struct Trial {
  std::vector<std::string> argv;
  // NAME, with the value of this environment if it has one; or NAME=VALUE.
  std::vector<std::string> variables = {};
};

// Runs the command for at most 30 s, without input, and returns how it ended.
// Fails with FailedPrecondition if it did not start. Blocks.
absl::StatusOr<corral::v1::Execution> Run(client::Connection& connection,
                                          const std::string& sandbox,
                                          const Trial& trial);

// Returns the last bytes that the command wrote to the stream, without white
// space around them.
absl::StatusOr<std::string> OutputOf(client::Connection& connection,
                                     const corral::v1::Execution& execution,
                                     corral::v1::Stream stream);

// True if the command exited with code 0.
bool Succeeded(const corral::v1::Execution& ended);

}  // namespace bridge

#endif  // BRIDGE_ACP_DOCTOR_TRIAL_H_

// The work of corral-acp for an agent that runs in a sandbox itself.

#ifndef BRIDGE_ACP_AGENT_INSIDE_H_
#define BRIDGE_ACP_AGENT_INSIDE_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/options.h"

namespace bridge {

// Makes the agent's sandbox, and puts the command that runs the agent there in
// the place of the agent. `corral` is the program with its options, or empty if
// there is none. `directory` is the current one. Fails with NotFound if there
// is no such agent. Blocks for as long as the server takes.
absl::Status MoveInside(const std::vector<std::string>& corral,
                        const std::string& directory, Options& options);

// Checks the set-up as Examine() does, with what an agent inside needs. Fails
// if the agent cannot run in a sandbox.
absl::StatusOr<bool> ExamineOptions(
    const std::string& directory, Options options,
    absl::FunctionRef<void(absl::string_view line)> print);

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_INSIDE_H_

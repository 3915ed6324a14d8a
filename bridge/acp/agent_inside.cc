#include "bridge/acp/agent_inside.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "bridge/acp/doctor/doctor.h"
#include "bridge/acp/inside/agent_sandbox.h"
#include "bridge/acp/sessions/workplaces.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

absl::Status MoveInside(const std::vector<std::string>& corral,
                        const std::string& directory, Options& options) {
  if (corral.empty()) {
    return absl::FailedPreconditionError(
        "--agent-in-sandbox: no corral stands next to corral-acp");
  }
  ASSIGN_OR_RETURN(const AgentRuntime runtime, AddRuntime(directory, options));
  WorkplaceOptions& workplace = options.bridge.workplace;
  const absl::StatusOr<std::string> sandbox = CreateAgentSandbox(
      options.bridge.server,
      Workplaces::ToSandbox(workplace, {workplace.workspace, {}}));
  if (!sandbox.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the agent's sandbox: ", sandbox.status().message(),
                     "; `corral-acp doctor` with the same options shows more"));
  }
  workplace.agent_sandbox = *sandbox;
  options.agent = CommandInside(corral, *sandbox, runtime, options.agent,
                                {options.variables, options.published});
  return absl::OkStatus();
}

absl::StatusOr<bool> ExamineOptions(
    const std::string& directory, Options options,
    absl::FunctionRef<void(absl::string_view line)> print) {
  std::optional<AgentRuntime> runtime;
  if (options.agent_in_sandbox && !options.agent.empty()) {
    ASSIGN_OR_RETURN(runtime, AddRuntime(directory, options));
    for (const std::string& note : NotesInside(options, *runtime)) {
      print(absl::StrCat("note  ", note));
    }
  }
  return Examine(ToCheckup(options, runtime), print);
}

}  // namespace bridge

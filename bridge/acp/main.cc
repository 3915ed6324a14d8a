#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/agent/agent_process.h"
#include "bridge/acp/agent/termination.h"
#include "bridge/acp/doctor/doctor.h"
#include "bridge/acp/inside/agent_sandbox.h"
#include "bridge/acp/options.h"
#include "bridge/acp/relay.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/sessions/workplaces.h"
#include "bridge/acp/sibling_command.h"

namespace {

constexpr int kUnhealthyStatus = 1;
constexpr int kUsageStatus = 2;
constexpr int kFailureStatus = 125;
constexpr int kNotExecutableStatus = 126;
constexpr int kNotFoundStatus = 127;

void Complain(const absl::Status& status) {
  std::fprintf(stderr, "corral-acp: %s\n",
               static_cast<std::string>(status.message()).c_str());
}

void PrintLine(absl::string_view line) {
  std::printf("%s\n", static_cast<std::string>(line).c_str());
}

int Examine(const std::string& directory, bridge::Options options) {
  std::optional<bridge::AgentRuntime> runtime;
  if (options.agent_in_sandbox && !options.agent.empty()) {
    const auto found = bridge::AddRuntime(directory, options);
    if (!found.ok()) {
      Complain(found.status());
      return kUnhealthyStatus;
    }
    runtime = *found;
    for (const std::string& note : bridge::NotesInside(options, *found)) {
      PrintLine(absl::StrCat("note  ", note));
    }
  }
  return bridge::Examine(bridge::ToCheckup(options, runtime), PrintLine)
             ? 0
             : kUnhealthyStatus;
}

// Makes the agent's sandbox. Returns the command that runs the agent there.
absl::StatusOr<std::vector<std::string>> MoveInside(
    const std::string& directory, bridge::Options& options) {
  const std::vector<std::string> corral =
      bridge::SiblingCommand("corral", options.bridge.server);
  if (corral.empty()) {
    return absl::FailedPreconditionError(
        "--agent-in-sandbox: no corral stands next to corral-acp");
  }
  const absl::StatusOr<bridge::AgentRuntime> runtime =
      bridge::AddRuntime(directory, options);
  if (!runtime.ok()) {
    return runtime.status();
  }
  bridge::WorkplaceOptions& workplace = options.bridge.workplace;
  const absl::StatusOr<std::string> sandbox = bridge::CreateAgentSandbox(
      options.bridge.server,
      bridge::Workplaces::ToSandbox(workplace, {workplace.workspace, {}}));
  if (!sandbox.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the agent's sandbox: ", sandbox.status().message(),
                     "; `corral-acp doctor` with the same options shows more"));
  }
  workplace.agent_sandbox = *sandbox;
  return bridge::CommandInside(corral, *sandbox, *runtime, options.agent,
                               options.variables);
}

int Run(const std::string& directory, bridge::Options options) {
  absl::StatusOr<sandbox::UniqueFd> termination = bridge::CatchTermination();
  if (!termination.ok()) {
    Complain(termination.status());
    return kFailureStatus;
  }
  if (options.agent_in_sandbox) {
    absl::StatusOr<std::vector<std::string>> command =
        MoveInside(directory, options);
    if (!command.ok()) {
      Complain(command.status());
      return absl::IsNotFound(command.status()) ? kNotFoundStatus
                                                : kFailureStatus;
    }
    options.agent = *std::move(command);
  }
  absl::StatusOr<bridge::AgentProcess> agent =
      bridge::AgentProcess::Start(options.agent);
  if (!agent.ok()) {
    Complain(agent.status());
    return absl::IsNotFound(agent.status()) ? kNotFoundStatus
                                            : kNotExecutableStatus;
  }
  bridge::PollLoop loop;
  bridge::Relay relay(&loop, std::move(options.bridge), *std::move(agent),
                      {STDIN_FILENO, STDOUT_FILENO, termination->get()});
  // Skips the destructors, which would wait for threads that wait for a server
  // that hangs.
  std::_Exit(relay.Run());
}

}  // namespace

int main(int argc, char** argv) {
  std::error_code no_directory;
  const std::string directory =
      std::filesystem::current_path(no_directory).string();
  absl::StatusOr<bridge::Options> options = bridge::ParseOptions(
      std::vector<std::string>(argv + 1, argv + argc), directory);
  if (!options.ok()) {
    Complain(options.status());
    return kUsageStatus;
  }
  if (options->help) {
    std::fputs(bridge::HelpText().c_str(), stdout);
    return 0;
  }
  switch (options->task) {
    case bridge::Options::Task::kBridge:
      return Run(directory, *std::move(options));
    case bridge::Options::Task::kExamine:
      return Examine(directory, *std::move(options));
  }
  return kFailureStatus;
}

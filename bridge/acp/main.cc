#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/agent/agent_process.h"
#include "bridge/acp/agent/termination.h"
#include "bridge/acp/agent_inside.h"
#include "bridge/acp/options.h"
#include "bridge/acp/relay.h"
#include "bridge/acp/remote/poll_loop.h"
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
  const absl::StatusOr<bool> healthy =
      bridge::ExamineOptions(directory, std::move(options), PrintLine);
  if (!healthy.ok()) {
    Complain(healthy.status());
  }
  return healthy.value_or(false) ? 0 : kUnhealthyStatus;
}

int Run(const std::string& directory, bridge::Options options) {
  absl::StatusOr<sandbox::UniqueFd> termination = bridge::CatchTermination();
  if (!termination.ok()) {
    Complain(termination.status());
    return kFailureStatus;
  }
  if (options.agent_in_sandbox) {
    const absl::Status moved = bridge::MoveInside(
        bridge::SiblingCommand("corral", options.bridge.server), directory,
        options);
    if (!moved.ok()) {
      Complain(moved);
      return absl::IsNotFound(moved) ? kNotFoundStatus : kFailureStatus;
    }
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

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
#include "bridge/acp/doctor/doctor.h"
#include "bridge/acp/options.h"
#include "bridge/acp/relay.h"
#include "bridge/acp/remote/poll_loop.h"

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

int Examine(const bridge::Options& options) {
  const bool healthy =
      bridge::Examine(bridge::ToCheckup(options), [](absl::string_view line) {
        std::printf("%s\n", static_cast<std::string>(line).c_str());
      });
  return healthy ? 0 : kUnhealthyStatus;
}

int Run(bridge::Options options) {
  absl::StatusOr<sandbox::UniqueFd> termination = bridge::CatchTermination();
  if (!termination.ok()) {
    Complain(termination.status());
    return kFailureStatus;
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
  absl::StatusOr<bridge::Options> options = bridge::ParseOptions(
      std::vector<std::string>(argv + 1, argv + argc),
      std::filesystem::current_path(no_directory).string());
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
      return Run(*std::move(options));
    case bridge::Options::Task::kExamine:
      return Examine(*options);
  }
  return kFailureStatus;
}

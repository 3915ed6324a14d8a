#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/callback_threads.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/burst.h"
#include "tests/benchmarks/crowd.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/run_loop.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr size_t kSandboxes = 8;
constexpr absl::Duration kPatience = absl::Minutes(1);

// Commands that are started at the same moment.
struct Load {
  size_t commands;
  int rounds;
  Goal goal;
};

// Starts them all over one stream.
absl::StatusOr<absl::Duration> RunAtOnce(
    const Setting& setting, const std::vector<std::string>& sandboxes,
    const std::vector<std::string>& command, size_t count) {
  const absl::Time begin = absl::Now();
  const size_t depth = (count + sandboxes.size() - 1) / sandboxes.size();
  RETURN_IF_ERROR(RunLoop(setting.corral.executions(),
                          {sandboxes, command, depth}, kPatience, count)
                      .status());
  return absl::Now() - begin;
}

// Runs `run` in turn with bare commands. Fills both with the times of all
// commands together.
absl::Status Compare(const Load& load,
                     absl::FunctionRef<absl::StatusOr<absl::Duration>(
                         const std::vector<std::string>& command)>
                         run,
                     Samples& bare, Samples& corral) {
  const std::vector<std::string> command = {"/bin/true"};
  for (int round = 0; round < load.rounds; ++round) {
    ASSIGN_OR_RETURN(const absl::Duration spawned,
                     TimeSpawns(load.commands, command));
    ASSIGN_OR_RETURN(const absl::Duration ran, run(command));
    bare.Add(absl::ToDoubleMilliseconds(spawned));
    corral.Add(absl::ToDoubleMilliseconds(ran));
  }
  return absl::OkStatus();
}

absl::Status MeasureStream(const Setting& setting,
                           const std::vector<std::string>& sandboxes,
                           const Load& load) {
  Samples bare;
  Samples corral;
  RETURN_IF_ERROR(Compare(
      load,
      [&](const std::vector<std::string>& command) {
        return RunAtOnce(setting, sandboxes, command, load.commands);
      },
      bare, corral));
  setting.report.Add(
      {absl::StrCat(load.commands, " commands at once over one stream"), "ms",
       corral, absl::StrCat(load.commands, " times posix_spawn at once"), bare,
       load.goal, ""});
  return absl::OkStatus();
}

absl::Status MeasureClients(const Setting& setting,
                            const std::vector<std::string>& sandboxes,
                            const Load& load) {
  ASSIGN_OR_RETURN(Burst burst, Burst::Connect(setting.server, load.commands));
  Samples bare;
  Samples corral;
  RETURN_IF_ERROR(Compare(
      load,
      [&](const std::vector<std::string>& command) {
        return burst.Run(sandboxes, command);
      },
      bare, corral));
  const auto count = static_cast<double>(load.commands);
  setting.plot.Add("posix_spawn, that many at once: time for each", count,
                   bare.Median() / count);
  setting.plot.Add("a command of each of that many clients: time for each",
                   count, corral.Median() / count);
  setting.report.Add(
      {absl::StrCat(load.commands, " commands at once, each of a client"), "ms",
       corral, absl::StrCat(load.commands, " times posix_spawn at once"), bare,
       load.goal, ""});
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureConcurrentCommands(const Setting& setting) {
  const sandbox::CallbackThreads callback_threads(
      sandbox::CallbackThreads::Service::kShared);
  // Each way gets sandboxes of its own: those that have as many records as they
  // may keep remove one for each command.
  for (const auto& measure : {MeasureStream, MeasureClients}) {
    Crowd crowd(setting.corral);
    RETURN_IF_ERROR(crowd.Grow(kSandboxes).status());
    for (const Load& load :
         {Load{1, 100, Goal::None()}, Load{10, 30, Goal::None()},
          Load{100, 10, Goal::None()}, Load{500, 5, Goal::RatioAtMost(1.3)},
          Load{1000, 3, Goal::None()}}) {
      RETURN_IF_ERROR(measure(setting, crowd.names(), load));
    }
    RETURN_IF_ERROR(crowd.End());
  }
  return absl::OkStatus();
}

}  // namespace tests

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/burst.h"
#include "tests/benchmarks/crowd.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr size_t kSandboxes = 8;

struct Load {
  size_t clients;
  int rounds;
  Goal goal;
};

absl::Status Measure(const Setting& setting,
                     const std::vector<std::string>& sandboxes,
                     const Load& load) {
  const std::vector<std::string> command = {"/bin/true"};
  ASSIGN_OR_RETURN(Burst burst, Burst::Connect(setting.server, load.clients));
  Samples bare;
  Samples corral;
  for (int round = 0; round < load.rounds; ++round) {
    ASSIGN_OR_RETURN(const absl::Duration spawns,
                     TimeSpawns(load.clients, command));
    ASSIGN_OR_RETURN(const absl::Duration commands,
                     burst.Run(sandboxes, command));
    bare.Add(absl::ToDoubleMilliseconds(spawns));
    corral.Add(absl::ToDoubleMilliseconds(commands));
  }
  const auto clients = static_cast<double>(load.clients);
  setting.plot.Add("posix_spawn, that many at once: time for each", clients,
                   bare.Median() / clients);
  setting.plot.Add("a command of each of that many clients: time for each",
                   clients, corral.Median() / clients);
  setting.report.Add({absl::StrCat(load.clients, " commands at once, ",
                                   kSandboxes, " warm sandboxes, in all"),
                      "ms", corral,
                      absl::StrCat(load.clients, " times posix_spawn at once"),
                      bare, load.goal, ""});
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureConcurrentCommands(const Setting& setting) {
  Crowd crowd(setting.corral);
  RETURN_IF_ERROR(crowd.Grow(kSandboxes).status());
  for (const Load& load :
       {Load{1, 100, Goal::None()}, Load{10, 30, Goal::None()},
        Load{100, 10, Goal::None()}, Load{500, 5, Goal::RatioAtMost(1.3)},
        Load{1000, 3, Goal::None()}}) {
    RETURN_IF_ERROR(Measure(setting, crowd.names(), load));
  }
  return crowd.End();
}

}  // namespace tests

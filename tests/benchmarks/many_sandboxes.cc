#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/crowd.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/processes.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

constexpr size_t kFew = 500;
constexpr size_t kMany = 2000;
// Creations that stand for the first one and for the last one.
constexpr size_t kCreations = 20;
constexpr int kCommands = 100;
constexpr absl::Duration kIdle = absl::Seconds(5);

// Adds the cost of a command, with the crowd as it is, to the plot.
absl::Status AddCommands(const Setting& setting, const Crowd& crowd) {
  Samples commands;
  Samples spawns;
  for (int i = 0; i < kCommands; ++i) {
    ASSIGN_OR_RETURN(const absl::Duration spawn, TimeSpawn({"/bin/true"}));
    ASSIGN_OR_RETURN(
        const absl::Duration command,
        setting.corral.TimeCommand(crowd.names().front(), {"/bin/true"}));
    spawns.Add(absl::ToDoubleMilliseconds(spawn));
    commands.Add(absl::ToDoubleMilliseconds(command));
  }
  const auto sandboxes = static_cast<double>(crowd.names().size());
  setting.plot.Add("a command while there are that many sandboxes", sandboxes,
                   commands.Median());
  setting.plot.Add("posix_spawn beside it", sandboxes, spawns.Median());
  return absl::OkStatus();
}

// Grows the crowd and adds the costs to the plot. Returns the times of its last
// creations. At each size they follow commands, during which the server makes
// as many sandboxes ready as it keeps: otherwise those of one size would find
// some, and those of another none.
absl::StatusOr<Samples> Grow(const Setting& setting, Crowd& crowd,
                             size_t size) {
  const size_t before =
      std::max(crowd.names().size(), size > kCreations ? size - kCreations : 0);
  RETURN_IF_ERROR(crowd.Grow(before).status());
  if (before > 0) {
    RETURN_IF_ERROR(AddCommands(setting, crowd));
  }
  ASSIGN_OR_RETURN(Samples creations, crowd.Grow(size));
  setting.plot.Add("creating a sandbox while there are that many",
                   static_cast<double>(size), creations.Median() / 1000);
  return creations;
}

void AddIdleCpu(const Setting& setting, size_t sandboxes) {
  // Sandboxes are still made ready for a moment after a request.
  absl::SleepFor(absl::Seconds(2));
  const std::set<pid_t> processes = ReadTree(setting.server_pid);
  const absl::Duration before = ReadCpuTime(processes);
  absl::SleepFor(kIdle);
  const absl::Duration used = ReadCpuTime(processes) - before;
  setting.report.Add({absl::StrCat("CPU of ", sandboxes,
                                   " idle sandboxes and corrald, of one core"),
                      "%",
                      Samples(100 * absl::FDivDuration(used, kIdle)),
                      "",
                      {},
                      Goal::AtMost(1),
                      ""});
}

absl::Status Measure(const Setting& setting, Crowd& crowd) {
  RETURN_IF_ERROR(Grow(setting, crowd, 1).status());
  RETURN_IF_ERROR(Grow(setting, crowd, 10).status());
  ASSIGN_OR_RETURN(const Samples first, Grow(setting, crowd, 10 + kCreations));
  RETURN_IF_ERROR(Grow(setting, crowd, 100).status());
  const size_t most = setting.large ? kMany : kFew;
  Samples last;
  for (const size_t size : {kFew, 2 * kFew, kMany}) {
    if (size <= most) {
      ASSIGN_OR_RETURN(last, Grow(setting, crowd, size));
    }
  }
  setting.report.Add({absl::StrCat("creating a sandbox beside ", most), "us",
                      last, "creating one of the first 30", first,
                      Goal::RatioAtMost(1.5), "one after another"});
  AddIdleCpu(setting, most);
  if (!setting.large) {
    setting.report.NotMeasured("the 2,000th create", "needs --long");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureManySandboxes(const Setting& setting) {
  Crowd crowd(setting.corral);
  RETURN_IF_ERROR(Measure(setting, crowd));
  return crowd.End();
}

}  // namespace tests

#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

constexpr int kWarmUp = 30;
constexpr int kRounds = 400;

struct Program {
  std::string path;
  Samples corral;
  Samples spawn;
};

absl::Status MeasureOnce(Corral& corral, const std::string& sandbox, bool keep,
                         Program& program) {
  ASSIGN_OR_RETURN(const absl::Duration spawn, TimeSpawn({program.path}));
  ASSIGN_OR_RETURN(const absl::Duration command,
                   corral.TimeCommand(sandbox, {program.path}));
  if (keep) {
    program.spawn.Add(absl::ToDoubleMicroseconds(spawn));
    program.corral.Add(absl::ToDoubleMicroseconds(command));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureWarmCommand(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  Program libc{.path = "/bin/true", .corral = {}, .spawn = {}};
  Program nolibc{.path = setting.nolibc_true, .corral = {}, .spawn = {}};
  Samples hop;
  for (int round = 0; round < kWarmUp + kRounds; ++round) {
    const bool keep = round >= kWarmUp;
    RETURN_IF_ERROR(MeasureOnce(setting.corral, sandbox, keep, libc));
    RETURN_IF_ERROR(MeasureOnce(setting.corral, sandbox, keep, nolibc));
    ASSIGN_OR_RETURN(const absl::Duration elapsed, setting.bare.TimeHop());
    if (keep) {
      hop.Add(absl::ToDoubleMicroseconds(elapsed));
    }
  }
  RETURN_IF_ERROR(setting.corral.DeleteSandbox(sandbox));

  PrintRow("/bin/true, posix_spawn", "us", libc.spawn, "reference");
  PrintRow("/bin/true, warm sandbox", "us", libc.corral,
           AtMost(libc.corral.Median() / libc.spawn.Median(), 2));
  PrintRow("static, no libc, posix_spawn", "us", nolibc.spawn, "reference");
  PrintRow("static, no libc, warm sandbox", "us", nolibc.corral,
           absl::StrFormat("adds %.0f us, no goal",
                           nolibc.corral.Median() - nolibc.spawn.Median()));
  PrintRow("an empty gRPC call, of the above", "us", hop, "");
  return absl::OkStatus();
}

}  // namespace tests

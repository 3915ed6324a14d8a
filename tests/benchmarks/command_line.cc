#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

constexpr int kRounds = 100;

absl::Status AddSpawn(const std::vector<std::string>& argv, Samples& samples) {
  ASSIGN_OR_RETURN(const absl::Duration elapsed, TimeSpawn(argv));
  samples.Add(absl::ToDoubleMilliseconds(elapsed));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureCommandLine(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  Samples bare;
  Samples version;
  Samples exec;
  for (int round = 0; round < kRounds; ++round) {
    RETURN_IF_ERROR(AddSpawn({"/bin/true"}, bare));
    RETURN_IF_ERROR(AddSpawn({"./corral", "--version"}, version));
    RETURN_IF_ERROR(AddSpawn({"./corral", "--server", setting.server, "exec",
                              sandbox, "--", "/bin/true"},
                             exec));
  }
  const std::string reference = "posix_spawn of /bin/true";
  setting.report.Add({"corral --version", "ms", version, reference, bare,
                      Goal::None(), "a program that has loaded"});
  setting.report.Add({"corral exec of /bin/true in a warm sandbox", "ms", exec,
                      reference, bare, Goal::None(),
                      "with its start, its connection and its end"});
  return setting.corral.DeleteSandbox(sandbox);
}

}  // namespace tests

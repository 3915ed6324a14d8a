#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

constexpr int kWarmUp = 5;
constexpr int kRounds = 150;

// The sandbox that bubblewrap makes with its ordinary options: no cgroup, no
// seccomp filter, no limits.
std::vector<std::string> Bubblewrap() {
  return {"/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/usr",
          "/usr",           "--symlink",     "usr/bin",   "/bin",
          "--symlink",      "usr/lib",       "/lib",      "--symlink",
          "usr/lib64",      "/lib64",        "--proc",    "/proc",
          "--dev",          "/dev",          "--tmpfs",   "/tmp",
          "/bin/true"};
}

}  // namespace

absl::Status MeasureSandbox(const Setting& setting) {
  Samples bubblewrap;
  Samples corral;
  Samples gone;
  for (int round = 0; round < kWarmUp + kRounds; ++round) {
    ASSIGN_OR_RETURN(const absl::Duration reference, TimeSpawn(Bubblewrap()));
    const absl::Time begin = absl::Now();
    ASSIGN_OR_RETURN(
        const absl::Duration command,
        setting.corral.TimeCommand(Corral::kTenant, {"/bin/true"}));
    // The removal must not slow down the next sample.
    RETURN_IF_ERROR(setting.corral.AwaitNoSandbox());
    if (round < kWarmUp) {
      continue;
    }
    gone.Add(absl::ToDoubleMicroseconds(absl::Now() - begin));
    corral.Add(absl::ToDoubleMicroseconds(command));
    bubblewrap.Add(absl::ToDoubleMicroseconds(reference));
  }
  PrintRow("/bin/true, bwrap --unshare-all", "us", bubblewrap, "reference");
  PrintRow("/bin/true, a sandbox of its own", "us", corral,
           AtMost(corral.Median() / bubblewrap.Median(), 1));
  PrintRow("... and until that sandbox is gone", "us", gone, "no goal");
  return absl::OkStatus();
}

}  // namespace tests

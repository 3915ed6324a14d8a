#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr int kRounds = 5;

double MegabytesPerSecond(absl::Duration elapsed) {
  return static_cast<double>(kStreamBytes) / 1e6 /
         absl::ToDoubleSeconds(elapsed);
}

}  // namespace

absl::Status MeasureOutput(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox, setting.corral.CreateSandbox(""));
  Samples bare;
  Samples corral;
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(const absl::Duration reference, setting.bare.TimeStream());
    ASSIGN_OR_RETURN(
        const absl::Duration output,
        setting.corral.TimeOutput(
            sandbox, {"head", "-c", absl::StrCat(kStreamBytes), "/dev/zero"},
            kStreamBytes));
    bare.Add(MegabytesPerSecond(reference));
    corral.Add(MegabytesPerSecond(output));
  }
  RETURN_IF_ERROR(setting.corral.DeleteSandbox(sandbox));
  PrintRow("1 GiB in 64 KiB chunks, bare gRPC stream", "MB/s", bare,
           "reference");
  PrintRow("1 GiB of a command's output", "MB/s", corral,
           AtLeast(corral.Median() / bare.Median(), 0.5));
  return absl::OkStatus();
}

}  // namespace tests

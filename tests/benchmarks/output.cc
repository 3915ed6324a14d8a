#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/crowd.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

struct Load {
  std::string figure;
  std::string reference;
  size_t streams;
  // The size of each stream.
  uint64_t bytes;
  int rounds;
  Goal goal;
};

// Transfers all streams at once, and returns MB/s. `transfer` returns the time
// of one stream from its first byte to its end; the slowest one counts, so that
// the start of a command does not.
template <typename Transfer>
absl::StatusOr<double> Rate(const Load& load, Transfer transfer) {
  std::vector<absl::StatusOr<absl::Duration>> times(
      load.streams, absl::UnknownError("not transferred"));
  std::vector<std::thread> threads;
  const absl::Time begin = absl::Now();
  for (size_t i = 0; i < load.streams; ++i) {
    threads.emplace_back([&, i] { times[i] = transfer(i); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const absl::Duration all = absl::Now() - begin;
  absl::Duration slowest = absl::ZeroDuration();
  for (const absl::StatusOr<absl::Duration>& time : times) {
    RETURN_IF_ERROR(time.status());
    slowest = std::max(slowest, *time);
  }
  // Several streams do not begin together; then everything counts.
  return static_cast<double>(load.streams * load.bytes) / 1e6 /
         absl::ToDoubleSeconds(load.streams == 1 ? slowest : all);
}

absl::Status Measure(const Setting& setting,
                     const std::vector<std::string>& sandboxes,
                     const Load& load) {
  const std::vector<std::string> command = {
      "head", "-c", absl::StrCat(load.bytes), "/dev/zero"};
  Samples bare;
  Samples corral;
  for (int round = 0; round < load.rounds; ++round) {
    ASSIGN_OR_RETURN(const double reference, Rate(load, [&](size_t) {
                       return setting.bare.TimeStream(load.bytes);
                     }));
    ASSIGN_OR_RETURN(const double output, Rate(load, [&](size_t i) {
                       return setting.corral.TimeOutput(
                           sandboxes[i % sandboxes.size()], command,
                           load.bytes);
                     }));
    bare.Add(reference);
    corral.Add(output);
  }
  setting.report.Add(
      {load.figure, "MB/s", corral, load.reference, bare, load.goal, ""});
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureOutput(const Setting& setting) {
  constexpr size_t kSandboxes = 8;
  Crowd crowd(setting.corral);
  RETURN_IF_ERROR(crowd.Grow(kSandboxes).status());
  RETURN_IF_ERROR(Measure(
      setting, {crowd.names().front()},
      {"1 GiB of a command's output", "a bare gRPC stream, 256 KiB chunks", 1,
       uint64_t{1} << 30, 5, Goal::RatioAtLeast(0.9)}));
  RETURN_IF_ERROR(Measure(
      setting, crowd.names(),
      {"output of 100 commands at once, 4 MiB each", "100 bare gRPC streams",
       100, uint64_t{4} << 20, 5, Goal::RatioAtLeast(0.8)}));
  return crowd.End();
}

}  // namespace tests

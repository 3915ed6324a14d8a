#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/callback_threads.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/run_loop.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/spawn.h"

namespace tests {
namespace {

constexpr int kSandboxes = 8;
// So that a sandbox always has a command to start.
constexpr size_t kDepth = 2;
constexpr int kRounds = 5;
constexpr absl::Duration kTime = absl::Seconds(1);

// Returns how many calls of `once` a second end, from `threads` threads.
template <typename Once>
absl::StatusOr<double> Rate(size_t threads, Once once) {
  std::atomic<int> done{0};
  std::atomic<bool> failed{false};
  const absl::Time begin = absl::Now();
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      while (!failed && absl::Now() - begin < kTime) {
        if (once(i).ok()) {
          ++done;
        } else {
          failed = true;
        }
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  if (failed) {
    return absl::InternalError("a command failed");
  }
  return done / absl::ToDoubleSeconds(absl::Now() - begin);
}

}  // namespace

absl::Status MeasureThroughput(const Setting& setting) {
  const sandbox::CallbackThreads callback_threads(
      sandbox::CallbackThreads::Service::kShared);
  const std::vector<std::string> command = {"/bin/true"};
  std::vector<std::string> sandboxes;
  for (int i = 0; i < kSandboxes; ++i) {
    ASSIGN_OR_RETURN(std::string sandbox,
                     setting.corral.CreateSandbox(setting.workspace));
    sandboxes.push_back(std::move(sandbox));
  }
  Samples bare;
  Samples corral;
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(const double spawns,
                     Rate(std::thread::hardware_concurrency(),
                          [&](size_t) { return TimeSpawn(command).status(); }));
    ASSIGN_OR_RETURN(const double commands,
                     RunLoop(setting.corral.executions(),
                             {sandboxes, command, kDepth}, kTime, SIZE_MAX));
    bare.Add(spawns);
    corral.Add(commands);
  }
  setting.report.Add({"/bin/true, one client, 8 warm sandboxes, records kept",
                      "1/s", corral, "posix_spawn on all cores", bare,
                      Goal::RatioAtLeast(0.5), ""});
  for (const std::string& sandbox : sandboxes) {
    RETURN_IF_ERROR(setting.corral.DeleteSandbox(sandbox));
  }
  return absl::OkStatus();
}

}  // namespace tests

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
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

// While it exists, each byte_source waits with its second write.
class GateLock {
 public:
  static absl::StatusOr<GateLock> Take(const std::string& path) {
    sandbox::UniqueFd file(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file.valid() || ::flock(file.get(), LOCK_EX) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("flock ", path));
    }
    return GateLock(std::move(file));
  }

 private:
  explicit GateLock(sandbox::UniqueFd file) : file_(std::move(file)) {}

  sandbox::UniqueFd file_;
};

// Transfers all streams at once, and returns MB/s. `transfer` calls a function
// at the first byte of a stream, and then waits. When all of them have begun,
// `release` lets them go on, and the clock starts: the start of commands and
// calls does not count.
absl::StatusOr<double> Rate(
    const Load& load, absl::FunctionRef<void()> release,
    absl::FunctionRef<absl::Status(size_t, absl::FunctionRef<void()>)>
        transfer) {
  std::vector<absl::Status> ends(load.streams);
  absl::BlockingCounter waited_for(static_cast<int>(load.streams));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < load.streams; ++i) {
    threads.emplace_back([&, i] {
      bool begun = false;
      const auto begin = [&] {
        waited_for.DecrementCount();
        begun = true;
      };
      ends[i] = transfer(i, begin);
      if (!begun) {
        begin();
      }
    });
  }
  waited_for.Wait();
  const absl::Time begin = absl::Now();
  release();
  for (std::thread& thread : threads) {
    thread.join();
  }
  const absl::Duration time = absl::Now() - begin;
  for (const absl::Status& end : ends) {
    RETURN_IF_ERROR(end);
  }
  return static_cast<double>(load.streams * load.bytes) / 1e6 /
         absl::ToDoubleSeconds(time);
}

absl::StatusOr<double> BareRate(const Setting& setting, const Load& load) {
  RETURN_IF_ERROR(setting.bare.Hold());
  absl::Status released;
  const absl::StatusOr<double> rate = Rate(
      load, [&] { released = setting.bare.Release(); },
      [&](size_t, absl::FunctionRef<void()> on_first_byte) {
        return setting.bare.ReadStream(load.bytes, on_first_byte);
      });
  RETURN_IF_ERROR(released);
  return rate;
}

absl::StatusOr<double> CorralRate(const Setting& setting,
                                  const std::vector<std::string>& sandboxes,
                                  const Load& load) {
  const std::string gate = setting.workspace + "/gate";
  ASSIGN_OR_RETURN(std::optional<GateLock> lock, GateLock::Take(gate));
  const std::vector<std::string> command = {setting.workspace + "/byte_source",
                                            absl::StrCat(load.bytes), gate};
  return Rate(
      load, [&] { lock.reset(); },
      [&](size_t i, absl::FunctionRef<void()> on_first_byte) {
        return setting.corral.ReadOutput(sandboxes[i % sandboxes.size()],
                                         command, load.bytes, on_first_byte);
      });
}

absl::Status Measure(const Setting& setting,
                     const std::vector<std::string>& sandboxes,
                     const Load& load) {
  Samples bare;
  Samples corral;
  for (int round = 0; round < load.rounds; ++round) {
    ASSIGN_OR_RETURN(const double reference, BareRate(setting, load));
    ASSIGN_OR_RETURN(const double output, CorralRate(setting, sandboxes, load));
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
  RETURN_IF_ERROR(crowd.Grow(kSandboxes, setting.workspace).status());
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

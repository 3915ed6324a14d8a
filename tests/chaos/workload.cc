#include "tests/chaos/workload.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tests {
namespace {

using ::corral::v1::OutputPolicy;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

struct Shape {
  // Bytes of standard output. Standard error has this size divided by
  // error_divisor.
  uint64_t size;
  uint64_t error_divisor;
  uint64_t chunk;
  // Between two pieces, in microseconds.
  uint64_t pause;
  uint64_t retain;
  OutputPolicy::Overflow overflow;
};

Shape MakeShape(uint64_t largest, std::mt19937_64& random) {
  const Shape shapes[] = {
      // Numbered lines.
      {256 * kKiB, 1, 64, 0, 64 * kMiB, OutputPolicy::DROP_OLDEST},
      // A burst.
      {largest, largest, 256 * kKiB, 0, 128 * kMiB, OutputPolicy::DROP_OLDEST},
      {largest / 2, 2, 16 * kKiB, 0, 128 * kMiB, OutputPolicy::HEAD_AND_TAIL},
      // Slow output.
      {4 * kKiB, 2, 40, 10000, 64 * kMiB, OutputPolicy::DROP_OLDEST},
      {64 * kKiB, 1, 1000, 20000, 64 * kMiB, OutputPolicy::BLOCK},
      // These write more than is kept.
      {largest / 2, 4, 64 * kKiB, 100, kMiB, OutputPolicy::DROP_OLDEST},
      {largest / 2, 4, 64 * kKiB, 100, kMiB, OutputPolicy::HEAD_AND_TAIL},
      {largest / 8, 4, 64 * kKiB, 0, 256 * kKiB, OutputPolicy::BLOCK},
      {largest / 2, largest, 64 * kKiB, 100, kMiB, OutputPolicy::KILL},
      // These write nothing.
      {0, 1, 1, 0, kMiB, OutputPolicy::KILL},
  };
  return shapes[random() % std::size(shapes)];
}

int RandomEnd(std::mt19937_64& random) {
  const int ends[] = {0, 0, 1, 2, 126, 127, 128, 137, 255, -9, -15, -11, -13};
  return ends[random() % std::size(ends)];
}

void SetArguments(const std::string& directory,
                  const std::vector<std::string>& arguments,
                  Workload& workload) {
  workload.command.add_argv(directory + "/payload");
  workload.command.add_argv(workload.ledger);
  for (const std::string& argument : arguments) {
    workload.command.add_argv(argument);
  }
}

}  // namespace

Workload MakeWorkload(const std::string& directory, const std::string& id,
                      uint64_t largest, std::mt19937_64& random) {
  Workload workload;
  workload.ledger = absl::StrCat(directory, "/ledger-", id);
  workload.end = RandomEnd(random);
  const Shape shape = MakeShape(largest, random);
  OutputPolicy& policy = *workload.command.mutable_output();
  policy.set_retain_bytes(shape.retain);
  policy.set_overflow(shape.overflow);
  const uint64_t seed = random() % 2 * random();
  workload.outputs[corral::v1::STDOUT] = {seed, shape.size};
  if (random() % 8 == 0) {
    workload.input_size = std::min(shape.size, 4 * kMiB);
    workload.outputs[corral::v1::STDOUT].size = workload.input_size;
    workload.outputs[corral::v1::STDERR] = {};
    workload.command.set_stdin(true);
    // Keep all of it: a smaller limit could kill the command, which would close
    // the input while it is written.
    policy.set_retain_bytes(std::max(shape.retain, workload.input_size));
    SetArguments(directory, {"echo", absl::StrCat(workload.end)}, workload);
    return workload;
  }
  workload.outputs[corral::v1::STDERR] = {random(),
                                          shape.size / shape.error_divisor};
  const Workload::Output& error = workload.outputs[corral::v1::STDERR];
  SetArguments(directory,
               {"write", absl::StrCat(seed), absl::StrCat(shape.size),
                absl::StrCat(error.seed), absl::StrCat(error.size),
                absl::StrCat(shape.chunk), absl::StrCat(shape.pause),
                absl::StrCat(workload.end)},
               workload);
  return workload;
}

Workload MakeTinyWorkload(const std::string& directory, const std::string& id) {
  Workload workload;
  workload.ledger = absl::StrCat(directory, "/ledger-", id);
  workload.outputs[corral::v1::STDOUT] = {};
  workload.outputs[corral::v1::STDERR] = {};
  SetArguments(directory, {"write", "0", "0", "0", "0", "1", "0", "0"},
               workload);
  return workload;
}

}  // namespace tests

#include "tests/benchmarks/crowd.h"

#include <iostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/corral.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr size_t kAtATime = 10;
constexpr absl::Duration kPause = absl::Milliseconds(500);

}  // namespace

Crowd::~Crowd() {
  if (const absl::Status ended = End(); !ended.ok()) {
    std::cerr << "sandboxes are left: " << ended << std::endl;
  }
}

absl::StatusOr<Samples> Crowd::Grow(size_t size, const std::string& workspace) {
  Samples times;
  while (names_.size() < size) {
    const absl::Time begin = absl::Now();
    ASSIGN_OR_RETURN(std::string name, corral_.CreateSandbox(workspace));
    times.Add(absl::ToDoubleMicroseconds(absl::Now() - begin));
    names_.push_back(std::move(name));
  }
  return times;
}

absl::Status Crowd::End() {
  while (!names_.empty()) {
    for (size_t i = 0; i < kAtATime && !names_.empty(); ++i) {
      const std::string name = std::move(names_.back());
      names_.pop_back();
      RETURN_IF_ERROR(corral_.DeleteSandbox(name));
    }
    if (!names_.empty()) {
      absl::SleepFor(kPause);
    }
  }
  return absl::OkStatus();
}

}  // namespace tests

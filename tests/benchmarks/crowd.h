// Many sandboxes at the same time.
//
// Not thread-safe.

#ifndef TESTS_BENCHMARKS_CROWD_H_
#define TESTS_BENCHMARKS_CROWD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/benchmarks/corral.h"
#include "tests/benchmarks/samples.h"

namespace tests {

class Crowd {
 public:
  explicit Crowd(Corral& corral) : corral_(corral) {}
  // Ends the sandboxes that are left.
  ~Crowd();

  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Creates sandboxes one after another until there are `size`. Without a path
  // they have no workspace. Returns the time of each creation in microseconds.
  absl::StatusOr<Samples> Grow(size_t size, const std::string& workspace = "");

  // Ends all sandboxes, a few at a time with pauses. A kernel that frees the
  // system call filters of hundreds of processes at once may never come back.
  absl::Status End();

  const std::vector<std::string>& names() const { return names_; }

 private:
  Corral& corral_;
  std::vector<std::string> names_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_CROWD_H_

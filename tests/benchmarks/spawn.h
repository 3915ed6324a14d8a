// The reference for starting a command: posix_spawn, a pipe for its output,
// waitpid.

#ifndef TESTS_BENCHMARKS_SPAWN_H_
#define TESTS_BENCHMARKS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

// A child process whose output is a pipe. Not thread-safe.
class SpawnedCommand {
 public:
  // argv[0] is a path.
  static absl::StatusOr<SpawnedCommand> Start(
      const std::vector<std::string>& argv);

  // Reads the output to its end and reaps the process. Fails if the exit status
  // is not 0, with the begin of the output. To be called once.
  absl::Status Wait();

  // The read end of the pipe.
  int output() const { return output_.get(); }

 private:
  SpawnedCommand() = default;

  pid_t pid_ = -1;
  sandbox::UniqueFd output_;
};

// Returns the time from before posix_spawn until the output has ended and the
// process was reaped.
absl::StatusOr<absl::Duration> TimeSpawn(const std::vector<std::string>& argv);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_SPAWN_H_

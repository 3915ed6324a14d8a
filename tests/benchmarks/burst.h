// Many clients that start a command at the same moment.
//
// Not thread-safe.

#ifndef TESTS_BENCHMARKS_BURST_H_
#define TESTS_BENCHMARKS_BURST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace tests {

class Burst {
 public:
  // Each of `clients` has a connection of its own to `server`, which stays
  // open.
  static absl::StatusOr<Burst> Connect(const std::string& server,
                                       size_t clients);

  // Each client streams one command, in the sandboxes in turn. Returns the time
  // until all commands have ended.
  absl::StatusOr<absl::Duration> Run(const std::vector<std::string>& sandboxes,
                                     const std::vector<std::string>& argv);

 private:
  Burst() = default;

  std::vector<std::unique_ptr<corral::v1::ExecutionService::Stub>> clients_;
};

// The same with posix_spawn: starts `count` commands and waits for all of them.
absl::StatusOr<absl::Duration> TimeSpawns(size_t count,
                                          const std::vector<std::string>& argv);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_BURST_H_

// Rounds of sandboxes that run commands while processes of Corral are killed at
// random. Whether the answers are true is the matter of chaos.h; here counts
// what is left of the sandboxes.
//
//     Churn churn(&server, seed);
//     churn.Run({/*sandboxes=*/12, /*commands=*/8, {Victim::kInit}});

#ifndef TESTS_CHAOS_CHURN_H_
#define TESTS_CHAOS_CHURN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "sandbox/base/mutex.h"
#include "tests/chaos/calls.h"
#include "tests/integration/corrald.h"

namespace tests {

enum class Victim { kSupervisor, kInit, kSpawner, kServer };

class Churn {
 public:
  struct Round {
    // At most kMostSandboxes.
    int sandboxes = 0;
    // In each sandbox.
    int commands = 0;
    // Killed one after the other, in an order of chance, as long as the round
    // lasts.
    std::vector<Victim> victims;
    // Also looks at the screens of terminals: then the server has emulators for
    // a minute.
    bool screens = true;
  };

  // A kernel that frees the filters of hundreds of sandboxes in one moment can
  // hang for good. They are deleted kAtOnce at a time.
  static constexpr int kMostSandboxes = 20;
  static constexpr int kAtOnce = 4;

  // `server` runs, and must outlive this object.
  Churn(Corrald* server, uint64_t seed);

  // Returns when all sandboxes of the round are deleted. A server runs then.
  void Run(const Round& round);

  int64_t sandboxes() const { return sandboxes_; }
  int64_t executions() const { return executions_; }
  std::string Summary() const;

 private:
  void RunSandbox(const Round& round, uint64_t seed);
  std::optional<std::string> Create(std::mt19937_64& random);
  void RunCommand(const std::string& sandbox, bool screens,
                  std::mt19937_64& random);
  void ShowScreen(const std::string& execution);
  void Delete(const std::string& sandbox);
  void Kill(Victim victim);
  // Kills the child of a supervisor that has this name.
  void KillInside(const std::string& name);
  uint64_t NextSeed() ABSL_LOCKS_EXCLUDED(mutex_);

  Corrald* const server_;
  Calls calls_;
  const std::unique_ptr<corral::v1::ScreenService::Stub> screens_;
  std::atomic<int64_t> sandboxes_ = 0;
  std::atomic<int64_t> executions_ = 0;
  std::atomic<int64_t> refused_ = 0;
  int64_t kills_ = 0;
  int64_t server_kills_ = 0;
  sandbox::Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tests

#endif  // TESTS_CHAOS_CHURN_H_

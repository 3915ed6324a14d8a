// Commands of known output, readers that come and go, and a server that dies
// meanwhile.
//
//     Chaos chaos(seed, largest);
//     { Disruptor disruptor(chaos.server(), ...);
//       chaos.RunCommands(...); }
//     chaos.CheckWhatIsKept();
//     chaos.End();

#ifndef TESTS_CHAOS_CHAOS_H_
#define TESTS_CHAOS_CHAOS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "tests/chaos/calls.h"
#include "tests/chaos/tally.h"
#include "tests/chaos/workload.h"
#include "tests/integration/corrald.h"

namespace tests {

class Chaos {
 public:
  // `largest` is the size of a burst in bytes.
  Chaos(uint64_t seed, uint64_t largest);

  Corrald& server() { return server_; }
  Tally& tally() { return tally_; }

  void CreateSandboxes(int count);

  // Runs commands for the given time, `at_once` at the same time. Returns when
  // all have ended and were compared. Some are kept, the others deleted.
  void RunCommands(absl::Duration time, int at_once);

  // Starts commands that end at once, with calls that often give up before the
  // answer comes.
  void StartTinyCommands(absl::Duration time, int at_once);

  // Creates and deletes sandboxes, each with one command.
  void ChurnSandboxes(absl::Duration time);

  // Compares everything that is kept once more, and deletes it.
  void CheckWhatIsKept();

  // Deletes the sandboxes and ends the server. Expects that nothing is left.
  void End();

 private:
  struct Kept {
    Workload workload;
    corral::v1::StartExecutionRequest request;
    // Empty: it is not known whether the execution began.
    std::string execution;
  };

  corral::v1::StartExecutionRequest MakeRequest(const Workload& workload,
                                                std::mt19937_64& random);
  std::optional<std::string> Start(
      const corral::v1::StartExecutionRequest& request);
  void RunCommand(uint64_t seed);
  void StartTinyCommand(uint64_t seed);
  void ChurnSandbox(uint64_t seed);
  void Observe(const Workload& workload, const std::string& execution,
               uint64_t seed);
  void WriteInput(const Workload& workload, const std::string& execution);
  void ReadNowAndThen(const Workload& workload, const std::string& execution,
                      uint64_t seed, const std::atomic<bool>& ended);
  void FollowWithCommandLine(const Workload& workload,
                             const std::string& execution, uint64_t seed);
  void Wait(const Workload& workload, const std::string& execution);
  void Keep(const Kept& kept) ABSL_LOCKS_EXCLUDED(mutex_);
  void CheckUncertain(const Kept& kept);
  void Delete(const std::string& execution);
  uint64_t NextSeed() ABSL_LOCKS_EXCLUDED(mutex_);

  Corrald server_;
  Tally tally_;
  const uint64_t largest_;
  std::unique_ptr<Calls> calls_;
  std::vector<std::string> sandboxes_;

  sandbox::Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  std::vector<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  uint64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tests

#endif  // TESTS_CHAOS_CHAOS_H_

// Kills or replaces a corrald again and again.

#ifndef TESTS_CHAOS_DISRUPTOR_H_
#define TESTS_CHAOS_DISRUPTOR_H_

#include <atomic>
#include <cstdint>
#include <random>
#include <thread>

#include "tests/chaos/tally.h"
#include "tests/integration/corrald.h"

namespace tests {

enum class Disruption {
  // SIGKILL every 100 to 600 ms, counted from the start of the program, so that
  // the server sometimes dies before it serves.
  kKill,
  // A successor takes over.
  kTakeOver,
  // One or the other, at random.
  kBoth,
};

// Begins with its construction. `server` belongs to the disruptor until Stop().
class Disruptor {
 public:
  Disruptor(Corrald& server, Disruption disruption, uint64_t seed,
            Tally& tally);
  ~Disruptor() { Stop(); }

  Disruptor(const Disruptor&) = delete;
  Disruptor& operator=(const Disruptor&) = delete;

  // Stops and leaves a server that serves.
  void Stop();

 private:
  void Run();
  void Pause();
  void KillAndStart();
  void RandomlyKillOrTakeOver();

  Corrald& server_;
  const Disruption disruption_;
  std::mt19937_64 random_;
  Tally& tally_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tests

#endif  // TESTS_CHAOS_DISRUPTOR_H_

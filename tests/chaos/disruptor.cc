#include "tests/chaos/disruptor.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tests {

Disruptor::Disruptor(Corrald& server, Disruption disruption, uint64_t seed,
                     Tally& tally)
    : server_(server),
      disruption_(disruption),
      random_(seed),
      tally_(tally),
      thread_([this] { Run(); }) {}

void Disruptor::Stop() {
  if (!thread_.joinable()) {
    return;
  }
  stopping_ = true;
  thread_.join();
  if (server_.IsRunning()) {
    server_.Kill();
  }
  server_.Start();
}

void Disruptor::Pause() {
  absl::SleepFor(absl::Milliseconds(100 + random_() % 500));
}

void Disruptor::Run() {
  while (!stopping_) {
    Pause();
    ++tally_.disruptions;
    switch (disruption_) {
      case Disruption::kKill:
        KillAndStart();
        break;
      case Disruption::kTakeOver:
        server_.TakeOver();
        break;
      case Disruption::kBoth:
        RandomlyKillOrTakeOver();
        break;
    }
  }
}

void Disruptor::RandomlyKillOrTakeOver() {
  if (random_() % 2 == 0 && server_.IsRunning()) {
    // A successor competes for the state directory with a predecessor that
    // still starts. If the predecessor loses, it ends with an error, and the
    // successor serves.
    server_.AwaitServing();
    server_.TakeOver();
  } else {
    KillAndStart();
  }
}

void Disruptor::KillAndStart() {
  if (!server_.IsRunning()) {
    tally_.Loss("the server ended by itself");
  }
  server_.Kill();
  server_.Launch(server_.UsualArguments());
}

}  // namespace tests

// Nothing is lost and nothing happens twice, whatever happens to corrald.
//
//     chaos_test [GoogleTest's flags] [--seconds=N] [--seed=N]
//     [--largest=BYTES]

#include "tests/chaos/chaos.h"

#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/chaos/disruptor.h"

namespace tests {
namespace {

uint64_t seconds = 6;
uint64_t seed = std::random_device{}();
uint64_t largest = 8 << 20;

class ChaosTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::cout << "--seed=" << seed << std::endl;
    chaos_.CreateSandboxes(3);
  }

  void TearDown() override {
    chaos_.CheckWhatIsKept();
    chaos_.End();
    for (const std::string& problem : chaos_.tally().problems()) {
      ADD_FAILURE() << problem;
    }
    std::cout << chaos_.tally().Summary() << std::endl;
    if (HasFailure()) {
      std::cout << chaos_.server().log();
    }
  }

  Chaos chaos_{seed, largest};
};

TEST_F(ChaosTest, KeepsEveryByteAndEveryEndWhenTheServerIsKilled) {
  Disruptor disruptor(chaos_.server(), Disruption::kKill, seed, chaos_.tally());
  chaos_.RunCommands(absl::Seconds(seconds), 12);
  disruptor.Stop();
}

TEST_F(ChaosTest, StartsOnceOrNeverWhenTheServerIsKilled) {
  Disruptor disruptor(chaos_.server(), Disruption::kKill, seed, chaos_.tally());
  std::thread churn([this] { chaos_.ChurnSandboxes(absl::Seconds(seconds)); });
  chaos_.StartTinyCommands(absl::Seconds(seconds), 8);
  churn.join();
  disruptor.Stop();
}

TEST_F(ChaosTest, KeepsEverythingWhenSuccessorsTakeOver) {
  Disruptor disruptor(chaos_.server(), Disruption::kTakeOver, seed,
                      chaos_.tally());
  chaos_.RunCommands(absl::Seconds(seconds), 12);
  disruptor.Stop();
}

TEST_F(ChaosTest, KeepsEverythingWhenServersAreKilledOrTakenOver) {
  Disruptor disruptor(chaos_.server(), Disruption::kBoth, seed, chaos_.tally());
  std::thread tiny(
      [this] { chaos_.StartTinyCommands(absl::Seconds(seconds), 2); });
  chaos_.RunCommands(absl::Seconds(seconds), 8);
  tiny.join();
  disruptor.Stop();
}

bool ParseNumber(absl::string_view argument, absl::string_view name,
                 uint64_t& value) {
  return absl::ConsumePrefix(&argument, name) &&
         absl::SimpleAtoi(argument, &value);
}

bool ParseArguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!ParseNumber(argv[i], "--seconds=", seconds) &&
        !ParseNumber(argv[i], "--seed=", seed) &&
        !ParseNumber(argv[i], "--largest=", largest)) {
      std::cerr << "unknown argument " << argv[i] << std::endl;
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return tests::ParseArguments(argc, argv) ? RUN_ALL_TESTS() : 2;
}

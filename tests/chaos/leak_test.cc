// Nothing stays behind, whatever is killed.
//
//     leak_test [GoogleTest's flags] [--seed=N] [--sandboxes=N]
//     [--executions=N] [--drop-caches]

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/chaos/census.h"
#include "tests/chaos/churn.h"
#include "tests/chaos/host_lists.h"
#include "tests/chaos/kernel_objects.h"
#include "tests/integration/corrald.h"

namespace tests {
namespace {

uint64_t seed = 20260101;
int64_t sandboxes = 36;
int64_t executions = 250;
bool drop_caches = false;

// The time that the kernel takes to remove things in the background.
constexpr absl::Duration kPatience = absl::Seconds(60);
// The processes of a server that ends.
constexpr absl::Duration kEnd = absl::Seconds(10);
// Between rounds, for the kernel to free filters.
constexpr absl::Duration kPause = absl::Milliseconds(500);

Churn::Round KillingInside() {
  Churn::Round round;
  round.victims = {Victim::kSupervisor, Victim::kInit, Victim::kSpawner};
  return round;
}

Churn::Round KillingAll() {
  Churn::Round round = KillingInside();
  round.victims.push_back(Victim::kServer);
  return round;
}

class LeakTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    // An earlier test's may be ending.
    const absl::Time deadline = absl::Now() + kEnd;
    Names others = ListCorralProcesses();
    while (!others.empty() && absl::Now() < deadline) {
      absl::SleepFor(kPause);
      others = ListCorralProcesses();
    }
    if (!others.empty()) {
      GTEST_SKIP() << *others.begin() << " runs: the counts of this host are "
                   << "not those of this test alone";
    }
    std::cout << "--seed=" << seed << std::endl;
  }

  // Runs rounds until there were that many sandboxes and executions more.
  void RunRounds(Churn& churn, Churn::Round round, int64_t sandboxes,
                 int64_t executions) {
    // Some are refused, because their sandbox was killed.
    round.commands = static_cast<int>(2 + executions / sandboxes);
    const int64_t all_sandboxes = churn.sandboxes() + sandboxes;
    const int64_t all_executions = churn.executions() + executions;
    // Far more than it takes.
    int64_t rounds_left = 10 + sandboxes;
    while (churn.sandboxes() < all_sandboxes ||
           churn.executions() < all_executions) {
      ASSERT_GT(--rounds_left, 0) << churn.Summary();
      const int64_t missing =
          std::max(all_sandboxes - churn.sandboxes(),
                   (all_executions - churn.executions()) / round.commands);
      round.sandboxes = static_cast<int>(
          std::clamp<int64_t>(missing, 1, Churn::kMostSandboxes));
      ASSERT_NO_FATAL_FAILURE(churn.Run(round));
      absl::SleepFor(kPause);
    }
  }

  Census Count() {
    if (drop_caches) {
      DropCaches();
    }
    return TakeCensus(directories_);
  }

  // Nobody answers there.
  Corrald server_{"drain_seconds: 0 egress { name_servers: '127.0.0.1' }"};
  const std::vector<std::string> directories_ = {server_.directory(),
                                                 "/run/corral"};
};

TEST_F(LeakTest, LeavesTheHostAsItWasWhateverIsKilled) {
  {
    // The kernel makes some things when they are needed first, and keeps them.
    server_.Start();
    Churn first(&server_, seed);
    RunRounds(first, KillingAll(), 4, 16);
    server_.End();
  }
  const Census before = Count();
  server_.Start();
  Churn churn(&server_, seed + 1);
  RunRounds(churn, KillingAll(), sandboxes, executions);
  server_.End();
  if (drop_caches) {
    DropCaches();
  }
  for (const std::string& line :
       LastingGrowth(before, directories_, churn.sandboxes(), kPatience)) {
    ADD_FAILURE() << line;
  }
  std::cout << churn.Summary() << std::endl;
  if (HasFailure()) {
    std::cout << server_.log();
  }
}

TEST_F(LeakTest, LeavesTheServerItsDescriptorsWhateverIsKilled) {
  server_.Start();
  Churn churn(&server_, seed);
  Churn::Round round = KillingInside();
  round.screens = false;
  RunRounds(churn, round, 4, 8);
  const size_t before = ListDescriptors(server_.pid()).size();
  RunRounds(churn, round, sandboxes / 4, executions / 4);
  const absl::Time deadline = absl::Now() + kPatience;
  Names after = ListDescriptors(server_.pid());
  while (after.size() > before && absl::Now() < deadline) {
    absl::SleepFor(kPause);
    after = ListDescriptors(server_.pid());
  }
  EXPECT_LE(after.size(), before) << ::testing::PrintToString(after);
  std::cout << churn.Summary() << std::endl;
  server_.End();
}

bool ParseNumber(absl::string_view argument, absl::string_view name,
                 int64_t& value) {
  return absl::ConsumePrefix(&argument, name) &&
         absl::SimpleAtoi(argument, &value) && value > 0;
}

bool ParseArguments(int argc, char** argv) {
  int64_t number = 0;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (ParseNumber(argument, "--seed=", number)) {
      seed = static_cast<uint64_t>(number);
    } else if (argument == "--drop-caches") {
      drop_caches = true;
    } else if (!ParseNumber(argument, "--sandboxes=", sandboxes) &&
               !ParseNumber(argument, "--executions=", executions)) {
      std::cerr << "unknown argument " << argument << std::endl;
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

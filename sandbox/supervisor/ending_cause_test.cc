#include "sandbox/supervisor/ending_cause.h"

#include <signal.h>

#include <functional>
#include <optional>
#include <utility>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

using Cause = wire::ExitRecord;

// Wait statuses, as of waitpid(2).
constexpr int kExited = 3 << 8;
constexpr int kKilled = SIGKILL;
constexpr int kTerminated = SIGTERM;
constexpr int kCore = SIGKILL | 0x80;

struct Case {
  const char* name;
  int wait_status;
  std::function<void(EndingFacts&)> set;
  std::optional<wire::ExitRecord::Cause> cause;
};

void Everything(EndingFacts& facts) {
  facts.condemned = Cause::SANDBOX_DELETED;
  facts.timed_out = Cause::WALL_TIMEOUT;
  facts.client_signals = {SIGKILL, SIGTERM};
  facts.oom_victim = true;
  facts.init_ends = true;
  facts.output_loss = Cause::OUTPUT_LIMIT;
}

// All facts but those that come before `rank` in the order of precedence.
std::function<void(EndingFacts&)> AllFrom(int rank) {
  return [rank](EndingFacts& facts) {
    Everything(facts);
    if (rank > 0) {
      facts.condemned.reset();
    }
    if (rank > 1) {
      facts.init_ends = false;
    }
    if (rank > 2) {
      facts.timed_out.reset();
    }
    if (rank > 3) {
      facts.client_signals.clear();
    }
    if (rank > 4) {
      facts.oom_victim = false;
    }
    if (rank > 5) {
      facts.output_loss.reset();
    }
  };
}

void Nothing(EndingFacts&) {}

const Case kCases[] = {
    // Precedence of a command that SIGKILL ended.
    {"killed: condemned first", kKilled, AllFrom(0), Cause::SANDBOX_DELETED},
    {"killed: then the end of init", kKilled, AllFrom(1), std::nullopt},
    {"killed: then a timeout", kKilled, AllFrom(2), Cause::WALL_TIMEOUT},
    {"killed: then a client", kKilled, AllFrom(3), Cause::CLIENT_SIGNAL},
    {"killed: then memory", kKilled, AllFrom(4), Cause::OUT_OF_MEMORY},
    {"killed: then lost output", kKilled, AllFrom(5), Cause::OUTPUT_LIMIT},
    {"killed: by an unknown process", kKilled, Nothing, Cause::NORMAL},
    // Precedence of a command that SIGTERM ended.
    {"SIGTERM: a timeout", kTerminated, AllFrom(0), Cause::WALL_TIMEOUT},
    {"SIGTERM: then a client", kTerminated, AllFrom(3), Cause::CLIENT_SIGNAL},
    {"SIGTERM: then lost output", kTerminated, AllFrom(4), Cause::OUTPUT_LIMIT},
    {"SIGTERM: by an unknown process", kTerminated, Nothing, Cause::NORMAL},
    // Precedence of a command that exited by itself.
    {"exited: a timeout", kExited, AllFrom(0), Cause::WALL_TIMEOUT},
    {"exited: then lost output", kExited, AllFrom(3), Cause::OUTPUT_LIMIT},
    {"exited", kExited, Nothing, Cause::NORMAL},
    {"exited with 0", 0, AllFrom(6), Cause::NORMAL},
    // Each fact alone.
    {"deleted", kKilled,
     [](EndingFacts& facts) { facts.condemned = Cause::CLIENT_SIGNAL; },
     Cause::CLIENT_SIGNAL},
    {"server shutdown", kKilled,
     [](EndingFacts& facts) { facts.condemned = Cause::SERVER_SHUTDOWN; },
     Cause::SERVER_SHUTDOWN},
    {"sandbox expired", kKilled,
     [](EndingFacts& facts) { facts.condemned = Cause::SANDBOX_EXPIRED; },
     Cause::SANDBOX_EXPIRED},
    {"condemned, exited first", kExited,
     [](EndingFacts& facts) { facts.condemned = Cause::SANDBOX_DELETED; },
     Cause::NORMAL},
    {"init ends, exited first", kExited,
     [](EndingFacts& facts) { facts.init_ends = true; }, Cause::NORMAL},
    {"CPU timeout", kTerminated,
     [](EndingFacts& facts) { facts.timed_out = Cause::CPU_TIMEOUT; },
     Cause::CPU_TIMEOUT},
    {"a client's signal", kTerminated,
     [](EndingFacts& facts) { facts.client_signals = {SIGTERM}; },
     Cause::CLIENT_SIGNAL},
    {"another signal than the client's", kTerminated,
     [](EndingFacts& facts) { facts.client_signals = {SIGINT}; },
     Cause::NORMAL},
    {"an exit code that equals the client's signal", SIGTERM << 8,
     [](EndingFacts& facts) { facts.client_signals = {SIGTERM}; },
     Cause::NORMAL},
    {"killed with a core dump", kCore,
     [](EndingFacts& facts) { facts.client_signals = {SIGKILL}; },
     Cause::CLIENT_SIGNAL},
    {"out of memory", kKilled,
     [](EndingFacts& facts) { facts.oom_victim = true; }, Cause::OUT_OF_MEMORY},
    {"out of memory, another signal", kTerminated,
     [](EndingFacts& facts) { facts.oom_victim = true; }, Cause::NORMAL},
    {"out of memory, and all must go: exited", kExited,
     [](EndingFacts& facts) {
       facts.out_of_memory = true;
       facts.output_loss = Cause::OUTPUT_LIMIT;
     },
     Cause::OUT_OF_MEMORY},
    {"out of memory, and all must go: another signal", kTerminated,
     [](EndingFacts& facts) { facts.out_of_memory = true; },
     Cause::OUT_OF_MEMORY},
    {"out of memory, and all must go: a timeout first", kExited,
     [](EndingFacts& facts) {
       facts.out_of_memory = true;
       facts.timed_out = Cause::WALL_TIMEOUT;
     },
     Cause::WALL_TIMEOUT},
    {"out of memory, and all must go: a client first", kKilled,
     [](EndingFacts& facts) {
       facts.out_of_memory = true;
       facts.client_signals = {SIGKILL};
     },
     Cause::CLIENT_SIGNAL},
    {"output that the disk refused", kExited,
     [](EndingFacts& facts) { facts.output_loss = Cause::OUTPUT_FAILED; },
     Cause::OUTPUT_FAILED},
};

TEST(CauseOfEndingTest, FollowsThePrecedenceOfTheFacts) {
  for (const Case& test : kCases) {
    EndingFacts facts;
    facts.wait_status = test.wait_status;
    test.set(facts);
    EXPECT_EQ(CauseOfEnding(facts), test.cause) << test.name;
  }
}

TEST(IsKilledTest, IsTrueOnlyForSigkill) {
  EndingFacts facts;
  for (const auto& [wait_status, killed] :
       {std::pair(kKilled, true), std::pair(kCore, true),
        std::pair(kTerminated, false), std::pair(SIGKILL << 8, false),
        std::pair(0, false)}) {
    facts.wait_status = wait_status;
    EXPECT_EQ(IsKilled(facts), killed) << wait_status;
  }
}

TEST(EndingFactsTest, OnlySomeCondemnationsDeleteOrDiscard) {
  struct {
    std::optional<wire::ExitRecord::Cause> condemned;
    bool deleted;
    bool discards;
  } const table[] = {
      {std::nullopt, false, false},
      {Cause::OUTPUT_LIMIT, false, false},
      {Cause::OUTPUT_FAILED, false, true},
      {Cause::CLIENT_SIGNAL, true, true},
      {Cause::SANDBOX_DELETED, true, true},
      {Cause::SERVER_SHUTDOWN, true, true},
      {Cause::SANDBOX_EXPIRED, true, true},
  };
  for (const auto& row : table) {
    EndingFacts facts;
    facts.condemned = row.condemned;
    const int name = row.condemned.has_value() ? *row.condemned : -1;
    EXPECT_EQ(IsDeleted(facts), row.deleted) << name;
    EXPECT_EQ(DiscardsOutput(facts), row.discards) << name;
  }
}

}  // namespace
}  // namespace sandbox

// Attacks that take all of something of which the whole host has only a limited
// number. Each expects that the host and a neighbour still get theirs.

#include <fcntl.h>
#include <sys/inotify.h>
#include <time.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/attack/attack_test.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::testing::HasSubstr;

class TableAttackTest : public AttackTest {
 protected:
  void CreateBoth() {
    Create();
    CopyAttack(victim_);
    ASSERT_THAT(victim_.Create(), IsOk());
  }
  // Starts an attack that keeps what it took. Returns what it printed.
  std::string TakeAll(const std::string& attack) {
    EXPECT_THAT(sandbox_.Start(AttackRequest("bomb", attack)), IsOk());
    EXPECT_TRUE(sandbox_.WaitForText("bomb", "stdout", "taken: "));
    return sandbox_.Output("bomb", "stdout");
  }
  void ExpectVictimGetsItsOwn() {
    victim_.Run(victim_.Shell("v", "exec ./attack take-one"));
    EXPECT_EQ(victim_.Output("v", "stdout"),
              "inotify: 0\nterminal: 0\ntimer: 0\n");
  }

  // The sandbox that sandbox_ attacks.
  sandbox::TestSandbox victim_;
};

// The kernel also counts them for the user who owns the user namespace.
TEST_F(TableAttackTest, TakesNoInotifyInstancesFromOthers) {
  CreateBoth();
  EXPECT_THAT(TakeAll("inotify-bomb"), HasSubstr("inotify: EMFILE\n"));
  const sandbox::UniqueFd own(::inotify_init1(IN_CLOEXEC));
  EXPECT_TRUE(own.valid());
  ExpectVictimGetsItsOwn();
}

TEST_F(TableAttackTest, TakesNoTimersFromOthers) {
  CreateBoth();
  EXPECT_THAT(TakeAll("timer-bomb"), HasSubstr("timer: EAGAIN\n"));
  timer_t own;
  EXPECT_EQ(::timer_create(CLOCK_MONOTONIC, nullptr, &own), 0);
  ::timer_delete(own);
  ExpectVictimGetsItsOwn();
}

TEST_F(TableAttackTest, GetsOnlyItsShareOfTheTerminals) {
  CreateBoth();
  EXPECT_EQ(TakeAll("terminal-bomb"), "terminal: ENOSPC\ntaken: 64\n");
  const sandbox::UniqueFd own(
      ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_TRUE(own.valid());
  ExpectVictimGetsItsOwn();
}

}  // namespace
}  // namespace tests

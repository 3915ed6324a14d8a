// Two sandboxes, at the same time and one after the other.

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"
#include "tests/attack/host_processes.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NeighbourAttackTest : public AttackTest {
 protected:
  // The sandbox that sandbox_ attacks.
  void CreateBoth() {
    Create();
    CopyAttack(victim_);
    ASSERT_THAT(victim_.Create(), IsOk());
    const std::string mark = absl::StrCat("corral-victim-", ::getpid());
    ASSERT_THAT(victim_.Start(victim_.Shell(
                    "v",
                    "SECRET=1; export SECRET; echo secret > /tmp/secret; "
                    "echo secret > /dev/shm/secret; umask 077; "
                    "echo secret > secret; echo here; ./attack abstract-listen "
                    "corral-victim & sleep 1000; : " +
                        mark)),
                IsOk());
    ASSERT_TRUE(victim_.WaitForText("v", "stdout", "listen: 0"));
    const std::optional<HostProcess> found = FindProcess(mark);
    ASSERT_TRUE(found.has_value());
    victim_process_ = *found;
  }

  sandbox::TestSandbox victim_;
  HostProcess victim_process_;
};

TEST_F(NeighbourAttackTest, HasDifferentHostIds) {
  CreateBoth();
  const std::string mark = absl::StrCat("corral-attacker-", ::getpid());
  ASSERT_THAT(
      sandbox_.Start(sandbox_.Shell("a", "echo here; sleep 1000; : " + mark)),
      IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("a", "stdout", "here"));
  const std::optional<HostProcess> attacker = FindProcess(mark);
  ASSERT_TRUE(attacker.has_value());
  EXPECT_NE(attacker->user / 65536, victim_process_.user / 65536);
}

TEST_F(NeighbourAttackTest, CannotSeeOrSignalItsNeighbour) {
  CreateBoth();
  EXPECT_THAT(Shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"),
              Not(HasSubstr("victim-")));
  for (const pid_t pid : {victim_process_.pid, victim_process_.parent}) {
    EXPECT_THAT(Attack(absl::StrCat("assault ", pid)),
                HasSubstr("kill: ESRCH\n"));
  }
  Attack("kill-all");
  EXPECT_TRUE(FindProcess(victim_process_.pid).has_value());
}

TEST_F(NeighbourAttackTest, CannotReadItsNeighboursFiles) {
  CreateBoth();
  EXPECT_THAT(Shell("cat /tmp/secret /dev/shm/secret " + victim_.workspace() +
                    "/secret"),
              Not(HasSubstr("secret\nsecret")));
  EXPECT_EQ(Shell("ls /tmp /dev/shm | grep secret"), "");
  EXPECT_THAT(Shell("ls " + victim_.workspace()), HasSubstr("No such file"));
}

TEST_F(NeighbourAttackTest, CannotReachItsNeighboursSockets) {
  CreateBoth();
  EXPECT_EQ(Attack("abstract-connect corral-victim"),
            "connect: ECONNREFUSED\n");
}

TEST_F(NeighbourAttackTest, SharesNoIpcWithItsNeighbour) {
  CreateBoth();
  ASSERT_THAT(sandbox_.Run(sandbox_.Shell("a", "ipcmk -M 4096")).exit(),
              testing::_);
  EXPECT_THAT(victim_.Run(victim_.Shell("b", "ipcs -m | grep -c 0x || true"))
                  .exit()
                  .wait_status(),
              0);
  EXPECT_EQ(victim_.Output("b", "stdout"), "0\n");
}

TEST_F(NeighbourAttackTest, CannotStarveItsNeighbour) {
  spec().set_pids(50);
  CreateBoth();
  ASSERT_THAT(sandbox_.Start(AttackRequest("bomb", "fork-bomb")), IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("bomb", "stdout", "bomb"));
  EXPECT_EQ(victim_.Run(victim_.Shell("b", "exit 3")).exit().wait_status(),
            3 << 8);
}

// The second sandbox can get the slot and the ids of the first one.
TEST_F(NeighbourAttackTest, FindsNothingOfAnEarlierSandbox) {
  CreateBoth();
  ASSERT_THAT(victim_.Delete(), IsOk());
  sandbox::TestSandbox next;
  // The directory of the workspace's path would be created below /tmp.
  next.spec().clear_workspace();
  ASSERT_THAT(next.Create(), IsOk());
  next.Run(next.Shell("a",
                      "ls -A /tmp /dev/shm /home/corral; ipcs | grep 0x; "
                      "set -- /proc/[0-9]*; echo $#"));
  EXPECT_EQ(next.Output("a", "stdout"),
            "/dev/shm:\n\n/home/corral:\n\n/tmp:\n1\n");
}

}  // namespace
}  // namespace tests

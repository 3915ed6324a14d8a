// Attacks on a process that does not belong to the sandbox but shares all of
// its namespaces and the user of its commands. Only Landlock is left between
// them.

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/landlock.h"
#include "tests/attack/attack_test.h"
#include "tests/attack/host_processes.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::sandbox::wire::SandboxSpec;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool HostHasLandlock() {
  absl::Status entered;
  std::thread thread([&entered] {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    entered = sandbox::EnterLandlockDomain();
  });
  thread.join();
  return entered.ok();
}

// The pid that a process has in the innermost of its pid namespaces.
std::string InnerPid(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  while (std::getline(status, line) && line.rfind("NSpid:", 0) != 0) {
  }
  return line.substr(line.rfind('\t') + 1);
}

class LandlockAttackTest : public AttackTest {
 protected:
  void SetUp() override {
    if (!HostHasLandlock()) {
      GTEST_SKIP() << "this kernel has no Landlock with scopes";
    }
  }
  void TearDown() override {
    if (visitor_.pid != 0) {
      ::kill(visitor_.pid, SIGKILL);
      // nsenter, which stops when its child does.
      ::kill(visitor_.parent, SIGKILL);
      ::pclose(output_);
    }
  }

  // Creates the sandbox and sends the visitor into it, who listens at an
  // abstract address.
  void CreateWithVisitor() {
    Create();
    const std::string mark = absl::StrCat("corral-host-", ::getpid());
    ASSERT_THAT(sandbox_.Start(sandbox_.Shell(
                    "host", "sleep 1000 & echo here; wait; : " + mark)),
                IsOk());
    ASSERT_TRUE(sandbox_.WaitForText("host", "stdout", "here"));
    const auto host = FindProcess(mark);
    ASSERT_TRUE(host.has_value());
    output_ = ::popen(absl::StrCat("exec nsenter --all --target ", host->pid,
                                   " --setuid 1000 --setgid 1000 sh -c 'exec ",
                                   sandbox_.workspace(),
                                   "/attack abstract-listen ", address_, "'")
                          .c_str(),
                      "re");
    char line[64] = {};
    while (std::string(line) != "listen: 0\n" &&
           std::fgets(line, sizeof(line), output_) != nullptr) {
    }
    // In the command line of nsenter, a space stands between the words.
    const auto visitor = FindProcess(
        absl::StrCat("abstract-listen", std::string(1, '\0'), address_));
    ASSERT_TRUE(visitor.has_value());
    visitor_ = *visitor;
    ASSERT_EQ(visitor_.user, host->user);
  }
  void ExpectUntouched() {
    const auto visitor = FindProcess(visitor_.pid);
    ASSERT_TRUE(visitor.has_value());
    EXPECT_EQ(visitor->state, 'S');
  }

  const std::string address_ = absl::StrCat("corral-visitor-", ::getpid());
  HostProcess visitor_;

 private:
  std::FILE* output_ = nullptr;
};

TEST_F(LandlockAttackTest, CannotReachAnAbstractSocketOfAVisitor) {
  CreateWithVisitor();
  EXPECT_EQ(Attack("abstract-connect " + address_), "connect: EPERM\n");
  EXPECT_THAT(Shell("cat /proc/net/unix"), HasSubstr("@" + address_));
}

TEST_F(LandlockAttackTest, CannotTouchAVisitor) {
  CreateWithVisitor();
  EXPECT_EQ(Attack("assault " + InnerPid(visitor_.pid)),
            RefusedAssault() + "affinity: EINVAL\nsetpgid: ESRCH\n");
  Attack("kill-all");
  ExpectUntouched();
}

TEST_F(LandlockAttackTest, CannotTouchAVisitorWithAnotherFilter) {
  spec().set_profile(SandboxSpec::STRICT);
  CreateWithVisitor();
  EXPECT_THAT(Attack("assault " + InnerPid(visitor_.pid)),
              HasSubstr(kRefusedSignals));
  ExpectUntouched();
}

// Root of a user namespace of its own may do more, but not leave the domain.
TEST_F(LandlockAttackTest, CannotTouchAVisitorAsRootOfANamespace) {
  spec().set_profile(SandboxSpec::NESTED);
  CreateWithVisitor();
  const std::string inner = "unshare --user --map-root-user ./attack ";
  EXPECT_THAT(Shell(inner + "assault " + InnerPid(visitor_.pid)),
              StartsWith(RefusedAssault()));
  EXPECT_EQ(Shell(inner + "abstract-connect " + address_), "connect: EPERM\n");
  ExpectUntouched();
}

TEST_F(LandlockAttackTest, LeavesSocketsAndSignalsAmongCommands) {
  Create();
  ASSERT_THAT(
      sandbox_.Start(AttackRequest("listener", "abstract-listen " + address_)),
      IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("listener", "stdout", "listen: 0"));
  EXPECT_EQ(Attack("abstract-connect " + address_), "connect: 0\n");
  Attack("kill-all");
  EXPECT_EQ(sandbox_.WaitForEnd("listener").exit().wait_status(), SIGKILL);
}

TEST_F(LandlockAttackTest, LeavesDomainsOfACommandsOwn) {
  Create();
  // SYS_landlock_create_ruleset, SYS_landlock_restrict_self.
  EXPECT_EQ(
      Shell("python3 -c 'import ctypes, os, struct\n"
            "call = ctypes.CDLL(None, use_errno=True).syscall\n"
            "call(157, 38, 1, 0, 0, 0)\n"
            "for _ in range(15):\n"
            "    rules = call(444, struct.pack(\"QQQ\", 0, 0, 3), 24, 0)\n"
            "    print(call(446, rules, 0), end=\" \")\n'"),
      "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ");
}

}  // namespace
}  // namespace tests

// Each test drops privileges in a child, since a process cannot regain them.

#include "sandbox/kernel/privileges.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "sandbox/base/small_file.h"

namespace sandbox {
namespace {

// Returns the result of `check` in a child process.
bool HoldsInChild(bool (*check)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(check() ? 0 : 1);
  }
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// Calls only what is safe between fork and exit. Returns 0 on success.
bool StatusSays(const char* line) {
  const absl::StatusOr<std::string> status = ReadSmallFile("/proc/self/status");
  return status.ok() && absl::StrContains(*status, line);
}

class PrivilegesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }
};

TEST_F(PrivilegesTest, LeavesNoCapability) {
  EXPECT_TRUE(HoldsInChild([] {
    return KeepOnly({}).ok() && StatusSays("CapPrm:\t0000000000000000") &&
           StatusSays("CapEff:\t0000000000000000") &&
           StatusSays("CapInh:\t0000000000000000") &&
           StatusSays("CapBnd:\t0000000000000000") &&
           StatusSays("CapAmb:\t0000000000000000") &&
           StatusSays("NoNewPrivs:\t1");
  }));
}

TEST_F(PrivilegesTest, KeepsTheNamedCapabilities) {
  EXPECT_TRUE(HoldsInChild([] {
    return KeepOnly({CAP_SETUID, CAP_SETGID}).ok() &&
           StatusSays("CapPrm:\t00000000000000c0") &&
           StatusSays("CapEff:\t00000000000000c0") &&
           StatusSays("CapBnd:\t00000000000000c0") && ::chroot("/") != 0 &&
           ::setuid(1000) == 0;
  }));
}

TEST_F(PrivilegesTest, KeepsAtMostTheNamedCapabilities) {
  EXPECT_TRUE(HoldsInChild([] {
    return KeepAtMost({CAP_SETUID, CAP_KILL}).ok() &&
           StatusSays("CapInh:\t0000000000000000") &&
           StatusSays("CapPrm:\t00000000000000a0") &&
           StatusSays("CapEff:\t00000000000000a0") &&
           StatusSays("CapBnd:\t00000000000000a0") &&
           StatusSays("NoNewPrivs:\t0");
  }));
}

TEST_F(PrivilegesTest, KeepsNoCapabilityThatItLacks) {
  EXPECT_TRUE(HoldsInChild([] {
    return KeepOnly({CAP_SETUID, CAP_SETPCAP}).ok() &&
           KeepAtMost({CAP_SETUID, CAP_KILL}).ok() &&
           StatusSays("CapPrm:\t0000000000000080") &&
           StatusSays("CapEff:\t0000000000000080");
  }));
}

TEST_F(PrivilegesTest, LeavesTheBoundingSetThatItMayNotChange) {
  EXPECT_TRUE(HoldsInChild([] {
    return KeepOnly({CAP_SETUID, CAP_KILL}).ok() &&
           KeepAtMost({CAP_KILL}).ok() &&
           StatusSays("CapPrm:\t0000000000000020") &&
           StatusSays("CapBnd:\t00000000000000a0");
  }));
}

rlimit Get(__rlimit_resource resource) {
  rlimit value = {1, 1};
  ::getrlimit(resource, &value);
  return value;
}

TEST_F(PrivilegesTest, AllowsNoCoreDumpsAndSetsUsualLimits) {
  EXPECT_TRUE(HoldsInChild([] {
    return SetResourceLimits().ok() && Get(RLIMIT_CORE).rlim_max == 1 &&
           Get(RLIMIT_CORE).rlim_cur == 1 &&
           Get(RLIMIT_NOFILE).rlim_cur == 1024;
  }));
}

bool SetLow() {
  const rlimit low = {100, 200};
  return ::setrlimit(RLIMIT_NOFILE, &low) == 0;
}

TEST_F(PrivilegesTest, RaisesNoLimitAboveThatOfTheHost) {
  EXPECT_TRUE(HoldsInChild([] {
    return SetLow() && SetResourceLimits().ok() &&
           Get(RLIMIT_NOFILE).rlim_cur == 200 &&
           Get(RLIMIT_NOFILE).rlim_max == 200;
  }));
}

bool OomScoreIs(const char* value) {
  const absl::StatusOr<std::string> score =
      ReadSmallFile("/proc/self/oom_score_adj");
  return score.ok() && *score == value;
}

TEST_F(PrivilegesTest, ReportsThatItMayNotComeBehindOthers) {
  EXPECT_TRUE(HoldsInChild([] {
    return WriteSmallFile("/proc/self/oom_score_adj", "500").ok() &&
           KeepOnly({}).ok() && !BecomeLateOomVictim().ok() &&
           OomScoreIs("500\n");
  }));
}

// Needs CAP_SYS_RESOURCE, which root may lack in a container.
class OomVictimTest : public PrivilegesTest {
 protected:
  void SetUp() override {
    PrivilegesTest::SetUp();
    if (::prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) != 1) {
      GTEST_SKIP() << "this host's root lacks CAP_SYS_RESOURCE";
    }
  }
};

TEST_F(OomVictimTest, ComesBehindOthers) {
  EXPECT_TRUE(HoldsInChild([] {
    return BecomeLateOomVictim().ok() && OomScoreIs("-900\n") &&
           BecomeLateOomVictim().ok() && OomScoreIs("-900\n");
  }));
}

TEST_F(OomVictimTest, KeepsAnExceptionOfTheHost) {
  EXPECT_TRUE(HoldsInChild([] {
    return WriteSmallFile("/proc/self/oom_score_adj", "-1000").ok() &&
           BecomeLateOomVictim().ok() && OomScoreIs("-1000\n");
  }));
}

TEST_F(OomVictimTest, CannotLeaveTheFirstPlace) {
  EXPECT_TRUE(HoldsInChild([] {
    return MakeFirstOomVictim(::getpid()).ok() && KeepOnly({}).ok() &&
           !WriteSmallFile("/proc/self/oom_score_adj", "999").ok() &&
           OomScoreIs("1000\n");
  }));
}

}  // namespace
}  // namespace sandbox

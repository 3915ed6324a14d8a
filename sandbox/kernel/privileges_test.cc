// Each test drops privileges in a child, since a process cannot regain them.

#include "sandbox/kernel/privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

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

TEST_F(PrivilegesTest, DropsNothingThatItMayNotDrop) {
  EXPECT_TRUE(HoldsInChild([] {
    return KeepOnly({CAP_SETUID}).ok() &&
           absl::StrContains(KeepOnly({}).message(), "drop capability");
  }));
  EXPECT_TRUE(HoldsInChild([] {
    return KeepOnly({CAP_SETUID, CAP_SETPCAP}).ok() &&
           absl::StrContains(KeepOnly({CAP_KILL}).message(), "capset");
  }));
}

TEST_F(PrivilegesTest, BecomesTheRootOfItsNamespaceWithoutGroups) {
  EXPECT_TRUE(HoldsInChild([] {
    const gid_t groups[] = {7, 8};
    return ::setgroups(2, groups) == 0 && ::setresgid(12, 13, 14) == 0 &&
           ::setresuid(15, 0, 16) == 0 && BecomeNamespaceRoot().ok() &&
           StatusSays("Uid:\t0\t0\t0\t0\n") &&
           StatusSays("Gid:\t0\t0\t0\t0\n") && StatusSays("Groups:\t \n");
  }));
#ifndef __SANITIZE_THREAD__
  // TSan's own thread keeps its capabilities.
  EXPECT_TRUE(HoldsInChild(
      [] { return KeepOnly({}).ok() && !BecomeNamespaceRoot().ok(); }));
#endif
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

// Sets a soft limit.
bool SetSoft(__rlimit_resource resource, rlim_t soft) {
  rlimit value = Get(resource);
  value.rlim_cur = std::min(soft, value.rlim_max);
  return ::setrlimit(resource, &value) == 0;
}

// True if the limits are `soft` and `hard`, or those of the host below them.
bool IsAtMost(const rlimit& host, __rlimit_resource resource, rlim_t soft,
              rlim_t hard) {
  const rlimit value = Get(resource);
  return value.rlim_max == std::min(hard, host.rlim_max) &&
         value.rlim_cur == std::min(soft, value.rlim_max);
}

TEST_F(PrivilegesTest, SetsTheSameLimitsWhateverThoseOfTheServer) {
  EXPECT_TRUE(HoldsInChild([] {
    constexpr rlim_t kMiB = 1 << 20;
    constexpr rlim_t kNone = RLIM_INFINITY;
    const struct {
      __rlimit_resource resource;
      rlim_t before;
      rlim_t soft;
      rlim_t hard;
    } limits[] = {{RLIMIT_NOFILE, 500, 1024, 524288},
                  {RLIMIT_STACK, 5 * kMiB, 8 * kMiB, kNone},
                  {RLIMIT_MEMLOCK, kMiB, 8 * kMiB, 8 * kMiB},
                  {RLIMIT_NICE, 0, 0, 0},
                  {RLIMIT_RTPRIO, 0, 0, 0},
                  {RLIMIT_NPROC, 1000, kNone, kNone},
                  {RLIMIT_FSIZE, 100 * kMiB, kNone, kNone},
                  {RLIMIT_CPU, 1000, kNone, kNone},
                  {RLIMIT_AS, kMiB << 26, kNone, kNone}};
    std::vector<rlimit> hosts;
    for (const auto& limit : limits) {
      hosts.push_back(Get(limit.resource));
      if (!SetSoft(limit.resource, limit.before)) {
        return false;
      }
    }
    bool right = SetResourceLimits().ok();
    for (size_t i = 0; i < hosts.size(); ++i) {
      right = right && IsAtMost(hosts[i], limits[i].resource, limits[i].soft,
                                limits[i].hard);
    }
    return right;
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

TEST_F(PrivilegesTest, ComesBeforeOthers) {
  EXPECT_TRUE(HoldsInChild([] {
    return MakeFirstOomVictim(::getpid()).ok() && OomScoreIs("1000\n");
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

#include "sandbox/kernel/process_limits.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup_limits.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::FailsWith;
using ::tests::IsOk;

class ProcessLimitsTest : public ::testing::Test {
 protected:
  ProcessLimitsTest() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) {
        ::pause();
      }
    }
  }
  ~ProcessLimitsTest() override {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  rlimit Get(__rlimit_resource resource) const {
    rlimit limit = {};
    EXPECT_EQ(::prlimit(pid_, resource, nullptr, &limit), 0);
    return limit;
  }

  const pid_t pid_;
};

TEST_F(ProcessLimitsTest, BindTheProcess) {
  CgroupLimits limits;
  limits.memory_bytes = 64 << 20;
  limits.pids = 10;
  ASSERT_THAT(LimitProcesses(pid_, limits), IsOk());
  EXPECT_EQ(Get(RLIMIT_DATA).rlim_max, rlim_t{64 << 20});
  EXPECT_EQ(Get(RLIMIT_DATA).rlim_cur, rlim_t{64 << 20});
  // Init and the spawner, too.
  EXPECT_EQ(Get(RLIMIT_NPROC).rlim_max, rlim_t{12});
  EXPECT_EQ(Get(RLIMIT_NPROC).rlim_cur, rlim_t{12});
}

TEST_F(ProcessLimitsTest, AreNeverRaised) {
  CgroupLimits limits;
  limits.memory_bytes = 64 << 20;
  ASSERT_THAT(LimitProcesses(pid_, limits), IsOk());
  limits.memory_bytes = 128 << 20;
  ASSERT_THAT(LimitProcesses(pid_, limits), IsOk());
  EXPECT_EQ(Get(RLIMIT_DATA).rlim_max, rlim_t{64 << 20});
}

TEST_F(ProcessLimitsTest, StayWhereNothingIsLimited) {
  const rlimit data = Get(RLIMIT_DATA);
  const rlimit processes = Get(RLIMIT_NPROC);
  ASSERT_THAT(LimitProcesses(pid_, CgroupLimits()), IsOk());
  EXPECT_EQ(Get(RLIMIT_DATA).rlim_max, data.rlim_max);
  EXPECT_EQ(Get(RLIMIT_NPROC).rlim_max, processes.rlim_max);
}

TEST_F(ProcessLimitsTest, StandInForNoLimitOfCpusAndNoCommonEnd) {
  CgroupLimits cpus;
  cpus.cpu_millis = 500;
  EXPECT_THAT(LimitProcesses(pid_, cpus),
              FailsWith(wire::Reply::ISOLATION,
                        StartsWith("a limit of CPUs needs control groups")));
  CgroupLimits together;
  together.kill_all_on_oom = true;
  EXPECT_THAT(LimitProcesses(pid_, together),
              FailsWith(wire::Reply::ISOLATION,
                        StartsWith("kill_all_on_oom needs control groups")));
}

TEST_F(ProcessLimitsTest, AreMissingOnceTheProcessHasGone) {
  CgroupLimits limits;
  limits.pids = 10;
  EXPECT_THAT(std::string(LimitProcesses(-1, limits).message()),
              HasSubstr("prlimit RLIMIT_NPROC"));
}

}  // namespace
}  // namespace sandbox

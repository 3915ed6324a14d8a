// The limits that programs find in their control group.

#include <sched.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

// A shell function that prints the directory of its own group, for one
// controller, by the way that most programs take.
constexpr char kFindGroup[] = R"(
group() {
  path=$(awk -F: -v c="$1" '(","$2",") ~ (","c",") { print $3 }' \
      /proc/self/cgroup)
  place=$(awk -v c="$1" '/ - cgroup / && (","$NF",") ~ (","c",") { print $5 }' \
      /proc/self/mountinfo)
  if [ -z "$path" ]; then
    path=$(sed -n 's/^0:://p' /proc/self/cgroup)
    place=$(awk '/ - cgroup2 / { print $5 }' /proc/self/mountinfo)
  fi
  echo "$place$path"
}
)";

class ShownLimitsTest : public ::testing::Test {
 protected:
  ShownLimitsTest() {
    sandbox_.spec().set_memory_bytes(uint64_t{192} << 20);
    sandbox_.spec().set_cpu_millis(1500);
    sandbox_.spec().set_pids(90);
  }

  // Runs a script and returns what it printed.
  std::string Run(const std::string& script) {
    const std::string id = absl::StrCat("e", ++runs_);
    sandbox_.Run(sandbox_.Shell(id, kFindGroup + script));
    return absl::StrCat(sandbox_.Output(id, "stdout"),
                        sandbox_.Output(id, "stderr"));
  }
  // Returns true if commands have this program.
  bool Has(const std::string& program) {
    return !Run(absl::StrCat("command -v ", program)).empty();
  }

  // The CPUs that this process and its children may use.
  static int Cpus() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    ::sched_getaffinity(0, sizeof(cpus), &cpus);
    return CPU_COUNT(&cpus);
  }

  TestSandbox sandbox_;
  // How many commands have run: e1, e2, ...
  int runs_ = 0;
};

TEST_F(ShownLimitsTest, AreFoundFromTheOwnGroupAndTheMounts) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_EQ(Run("cat $(group memory)/memory.max "
                "$(group memory)/memory.limit_in_bytes 2>/dev/null"),
            "201326592\n");
  EXPECT_EQ(Run("cat $(group pids)/pids.max"), "90\n");
  EXPECT_EQ(Run("cd $(group cpu); cat cpu.max 2>/dev/null || "
                "echo $(cat cpu.cfs_quota_us cpu.cfs_period_us)"),
            "150000 100000\n");
}

TEST_F(ShownLimitsTest, AreAbsentIfTheSandboxHasNone) {
  sandbox_.spec().clear_cpu_millis();
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_EQ(Run("cd $(group cpu); cat cpu.max 2>/dev/null || "
                "echo max $(cat cpu.cfs_period_us; "
                "grep -vx -- -1 cpu.cfs_quota_us)"),
            "max 100000\n");
}

// The group of a command that was killed serves a later one.
TEST_F(ShownLimitsTest, StayForLaterCommands) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Run("cat $(group pids)/pids.max; sleep 1000 >/dev/null 2>&1 &"),
              "90\n");
    EXPECT_THAT(sandbox_.DeleteExecution(absl::StrCat("e", runs_)), IsOk());
  }
}

TEST_F(ShownLimitsTest, AreThoseThatAJvmSizesItselfBy) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  if (!Has("java")) {
    GTEST_SKIP() << "Java is not installed";
  }
  const std::string settings = Run("java -XshowSettings:system -version 2>&1");
  EXPECT_THAT(settings, HasSubstr("Memory Limit: 192.00M"));
  EXPECT_THAT(settings, HasSubstr("CPU Quota: 150000us"));
  EXPECT_THAT(settings, HasSubstr("Maximum Processes Limit: 90"));
  // One and a half CPUs are two, where there are two.
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  EXPECT_THAT(settings, HasSubstr(absl::StrCat(
                            "Effective CPU Count: ", cpus > 1 ? 2 : 1, "\n")));
}

TEST_F(ShownLimitsTest, AreThoseThatNodeSizesItselfBy) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  if (!Has("node")) {
    GTEST_SKIP() << "Node.js is not installed";
  }
  const std::string limit =
      Run("node -e 'console.log(process.constrainedMemory?.())' 2>&1");
  if (limit == "undefined\n") {
    GTEST_SKIP() << "this version of Node.js does not show it";
  }
  EXPECT_EQ(limit, "201326592\n");
}

// nproc(1) asks for the set of CPUs, which a limit of CPU time does not change.
TEST_F(ShownLimitsTest, AreNotTheSetOfCpus) {
  sandbox_.spec().set_cpu_millis(200);
  ASSERT_THAT(sandbox_.Create(), IsOk());
  EXPECT_EQ(Run("nproc"), absl::StrCat(Cpus(), "\n"));
}

}  // namespace
}  // namespace sandbox

// Sandboxes of a user without privileges who has a control group, as systemd
// gives to the services of users. On hosts with cgroup v2.

#include <sched.h>
#include <signal.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/supervisor/unprivileged_fixture.h"
#include "tests/supervisor/unprivileged_process.h"

namespace sandbox {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::tests::FailsWith;
using ::tests::IsOk;

std::string Become() { return tests::BecomeUser(tests::Groups::kItsOwn); }

class DelegatedUserTest : public UnprivilegedTest {};

TEST_F(DelegatedUserTest, HasGroupsForItsSandboxes) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_EQ(host->version, CgroupVersion::kV2);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(Cgroup::List(*host), Contains(StartsWith(kOwnUserCgroup)));
  EXPECT_THAT(Shell("cat /proc/self/cgroup"), StartsWith("0::/run/e-"));
}

TEST_F(DelegatedUserTest, LimitsMemoryOfAllProcessesTogether) {
  sandbox_->spec().set_memory_bytes(64 << 20);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  Shell("head -c 200M /dev/zero | tail -c 150M | wc -c");
  EXPECT_GT(last_.usage().oom_kills(), 0u);
  EXPECT_GT(last_.usage().memory_peak_bytes(), uint64_t{32} << 20);
}

TEST_F(DelegatedUserTest, LimitsProcessesAndCpus) {
  sandbox_->spec().set_pids(20);
  sandbox_->spec().set_cpu_millis(500);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("cat /sys/fs/cgroup/run/cpu.max"), "50000 100000\n");
  EXPECT_THAT(
      Shell("for i in $(seq 40); do sleep 1000 > /dev/null 2>&1 & done"),
      HasSubstr("fork"));
}

TEST_F(DelegatedUserTest, KillsATree) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  ASSERT_THAT(sandbox_->Start(sandbox_->Shell(
                  "tree", "setsid sh -c 'echo ready; sleep 1000' & wait")),
              IsOk());
  ASSERT_TRUE(sandbox_->WaitForText("tree", "stdout", "ready"));
  ASSERT_THAT(sandbox_->Signal("tree", SIGKILL), IsOk());
  EXPECT_FALSE(sandbox_->WaitForEnd("tree").exit().output_open());
}

TEST_F(DelegatedUserTest, CannotChangeItsGroups) {
  sandbox_->spec().set_pids(20);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(Shell("echo 1000 > /sys/fs/cgroup/run/pids.max; "
                    "mkdir /sys/fs/cgroup/run/mine"),
              HasSubstr("Read-only file system"));
  EXPECT_EQ(Shell("cat /sys/fs/cgroup/run/pids.max"), "20\n");
}

// Commands own their group, and a mount of their own would let them hide in
// groups below it.
TEST_F(DelegatedUserTest, RefusesTheProfileNested) {
  sandbox_->spec().set_profile(wire::SandboxSpec::NESTED);
  EXPECT_THAT(sandbox_->Create(),
              FailsWith(wire::Reply::ISOLATION,
                        StartsWith("profile nested needs user ids")));
}

TEST_F(DelegatedUserTest, LeavesNoGroups) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  ASSERT_THAT(sandbox_->Delete(), IsOk());
  // With its server, the spare supervisor ends, too.
  sandbox_.reset();
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  ASSERT_THAT(host.status(), IsOk());
  while (!Cgroup::List(*host).empty()) {
    ::sched_yield();
  }
  EXPECT_THAT(Cgroup::List(*host), IsEmpty());
}

}  // namespace
}  // namespace sandbox

int main(int argc, char** argv) {
  return tests::RunTests(argc, argv, sandbox::Become);
}

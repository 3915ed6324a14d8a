#include "sandbox/kernel/abandoned_cgroups.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::tests::IsOk;

TEST(AbandonedCgroupsTest, RemovesAGroupOnlyWhenNobodyHoldsItsIds) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    GTEST_SKIP() << host.status();
  }
  absl::StatusOr<IdRange> range = IdRange::Acquire();
  ASSERT_THAT(range.status(), IsOk());
  const std::string name =
      absl::StrCat(kSandboxCgroup, range->first_id() >> 16);
  const absl::StatusOr<Cgroup> group = Cgroup::Create(*host, name);
  ASSERT_THAT(group.status(), IsOk());
  EXPECT_TRUE(RemoveAbandonedCgroups());
  EXPECT_THAT(Cgroup::List(*host), Contains(name));
  // Groups that no sandbox has.
  const std::string number = absl::StrCat(range->first_id() >> 16);
  const std::string others[] = {number, "other-" + number, name + "x"};
  std::vector<Cgroup> kept;
  for (const std::string& other : others) {
    absl::StatusOr<Cgroup> made = Cgroup::Create(*host, other);
    ASSERT_THAT(made.status(), IsOk());
    kept.push_back(*std::move(made));
  }
  const uint32_t id = range->first_id();
  { const IdRange released = *std::move(range); }
  EXPECT_TRUE(RemoveAbandonedCgroups());
  EXPECT_THAT(Cgroup::List(*host), Not(Contains(name)));
  EXPECT_THAT(Cgroup::List(*host), IsSupersetOf(others));
  EXPECT_TRUE(absl::IsNotFound(IdRange::TryAcquire(id).status()));
}

TEST(AbandonedCgroupsTest, KeepsTheIdsOfAGroupThatCannotBeRemoved) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    GTEST_SKIP() << host.status();
  }
  absl::StatusOr<IdRange> range = IdRange::Acquire();
  ASSERT_THAT(range.status(), IsOk());
  const uint32_t id = range->first_id();
  const absl::StatusOr<Cgroup> group =
      Cgroup::Create(*host, absl::StrCat(kSandboxCgroup, id >> 16));
  ASSERT_THAT(group.status(), IsOk());
  { const IdRange released = *std::move(range); }
  bool removed_all = true;
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_rmdir}, EBUSY, [&] { removed_all = RemoveAbandonedCgroups(); }));
  if (removed_all) {
    GTEST_SKIP() << "another server of this host has cleaned up";
  }
  EXPECT_TRUE(RemoveAbandonedCgroups());
  EXPECT_EQ(IdRange::List().count(id), 0);
}

TEST(AbandonedCgroupsTest, RemovesAGroupWithoutIdsWhenItsSupervisorHasGone) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    GTEST_SKIP() << host.status();
  }
  const pid_t gone = ::fork();
  if (gone == 0) {
    ::_exit(0);
  }
  const std::string names[] = {absl::StrCat(kOwnUserCgroup, ::getpid()),
                               absl::StrCat(kOwnUserCgroup, gone)};
  std::vector<Cgroup> made;
  for (const std::string& name : names) {
    absl::StatusOr<Cgroup> group = Cgroup::Create(*host, name);
    ASSERT_THAT(group.status(), IsOk());
    made.push_back(*std::move(group));
  }
  // A process that was not reaped still has its pid.
  RemoveAbandonedCgroups();
  EXPECT_THAT(Cgroup::List(*host), IsSupersetOf(names));
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  RemoveAbandonedCgroups();
  EXPECT_THAT(Cgroup::List(*host), Contains(names[0]));
  EXPECT_THAT(Cgroup::List(*host), Not(Contains(names[1])));
}

TEST(AbandonedCgroupsTest, DoesNothingOnAHostWhoseGroupsCannotBeFound) {
  EXPECT_TRUE(tests::WithFailingCalls({SYS_openat}, EMFILE,
                                      [] { RemoveAbandonedCgroups(); }));
}

}  // namespace
}  // namespace sandbox

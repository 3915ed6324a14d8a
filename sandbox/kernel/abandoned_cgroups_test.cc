#include "sandbox/kernel/abandoned_cgroups.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

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
  RemoveAbandonedCgroups();
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
  { const IdRange released = *std::move(range); }
  RemoveAbandonedCgroups();
  EXPECT_THAT(Cgroup::List(*host), Not(Contains(name)));
  EXPECT_THAT(Cgroup::List(*host), IsSupersetOf(others));
}

TEST(AbandonedCgroupsTest, DoesNothingOnAHostWhoseGroupsCannotBeFound) {
  EXPECT_TRUE(tests::WithFailingCalls({SYS_openat}, EMFILE,
                                      [] { RemoveAbandonedCgroups(); }));
}

}  // namespace
}  // namespace sandbox

#include "sandbox/kernel/abandoned_cgroups.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::Contains;
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
  { const IdRange released = *std::move(range); }
  RemoveAbandonedCgroups();
  EXPECT_THAT(Cgroup::List(*host), Not(Contains(name)));
}

}  // namespace
}  // namespace sandbox

// How many namespaces may be made. The rest needs processes: see
// made_namespaces_test, supervisor/construction_test and tests/attack.

#include "sandbox/kernel/namespaces.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

// Opens the limits where open(2) fails with `error`.
absl::StatusOr<NamespaceLimits> OpenWhereOpenFails(int error) {
  absl::StatusOr<NamespaceLimits> limits =
      absl::UnknownError("this host allows no filter");
  (void)tests::WithFailingCalls({SYS_open, SYS_openat}, error,
                                [&] { limits = OpenNamespaceLimits(); });
  return limits;
}

TEST(NamespacesTest, OpensTheLimitOfEachKind) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  size_t kinds = 0;
  for (const char* kind :
       {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"}) {
    std::ifstream limit("/proc/sys/user/max_" + std::string(kind) +
                        "_namespaces");
    kinds += limit.is_open() ? 1 : 0;
  }
  const absl::StatusOr<NamespaceLimits> limits = OpenNamespaceLimits();
  if (absl::IsPermissionDenied(limits.status())) {
    GTEST_SKIP() << limits.status();
  }
  ASSERT_THAT(limits.status(), IsOk());
  EXPECT_EQ(limits->size(), kinds);
}

TEST(NamespacesTest, NeedsNoLimitOfAKindThatTheKernelLacks) {
  const absl::StatusOr<NamespaceLimits> limits = OpenWhereOpenFails(ENOENT);
  if (absl::IsUnknown(limits.status())) {
    GTEST_SKIP() << limits.status();
  }
  ASSERT_THAT(limits.status(), IsOk());
  EXPECT_TRUE(limits->empty());
}

TEST(NamespacesTest, ReportsALimitThatItMayNotSet) {
  const absl::StatusOr<NamespaceLimits> limits = OpenWhereOpenFails(EACCES);
  if (absl::IsUnknown(limits.status())) {
    GTEST_SKIP() << limits.status();
  }
  EXPECT_THAT(limits.status(), StatusIs(absl::StatusCode::kPermissionDenied,
                                        HasSubstr("max_user_namespaces")));
  EXPECT_FALSE(LimitNamespaces(
                   [] {
                     NamespaceLimits closed;
                     closed.emplace_back();
                     return closed;
                   }(),
                   0)
                   .ok());
}

TEST(NamespacesTest, SetsEachLimit) {
  NamespaceLimits limits;
  limits.emplace_back(::memfd_create("one", MFD_CLOEXEC));
  limits.emplace_back(::memfd_create("other", MFD_CLOEXEC));
  EXPECT_THAT(LimitNamespaces(limits, 32), IsOk());
  for (const UniqueFd& limit : limits) {
    char text[8] = {};
    EXPECT_EQ(::pread(limit.get(), text, sizeof(text), 0), 2);
    EXPECT_STREQ(text, "32");
  }
}

}  // namespace
}  // namespace sandbox

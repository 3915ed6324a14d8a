#include "sandbox/base/filter_error.h"

#include <cerrno>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

TEST(FilterErrorTest, NamesTheSettingOfAHostWithoutMemoryForFilters) {
  const absl::Status status = FilterError(524, "seccomp");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "seccomp: errno 524: this host's memory for compiled filters is "
            "used up; raise net.core.bpf_jit_limit");
}

TEST(FilterErrorTest, LeavesOtherErrorsAsTheyAre) {
  for (const int error : {EINVAL, EACCES, ENOMEM, EFAULT}) {
    EXPECT_EQ(FilterError(error, "seccomp"),
              absl::ErrnoToStatus(error, "seccomp"));
    EXPECT_NE(FilterError(error, "seccomp").code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

}  // namespace
}  // namespace sandbox

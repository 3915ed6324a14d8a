#include "bridge/acp/terminals/errors.h"

#include <cerrno>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(ErrorsTest, NameStageAndErrnoOfAFailedStart) {
  corral::v1::StartFailure failure;
  failure.set_stage(corral::v1::StartFailure::EXEC);
  failure.set_errno_value(ENOENT);
  failure.set_message("No such file or directory");
  const Error error = StartFailed("nosuch", failure);
  EXPECT_EQ(error.code, ErrorCode::kInternal);
  EXPECT_EQ(error.data["details"],
            "spawn nosuch ENOENT: No such file or directory");
  EXPECT_EQ(error.data["stage"], "EXEC");
  EXPECT_EQ(error.data["errno"], "ENOENT");
  failure.set_errno_value(9999);
  EXPECT_EQ(StartFailed("nosuch", failure).data["errno"], "errno 9999");
}

TEST(ErrorsTest, DistinguishBadParametersFromFailures) {
  EXPECT_EQ(FromStatus(absl::InvalidArgumentError("x")).code,
            ErrorCode::kInvalidParams);
  const Error error = FromStatus(absl::UnavailableError("no server"));
  EXPECT_EQ(error.code, ErrorCode::kInternal);
  EXPECT_EQ(error.data["details"], "no server");
  EXPECT_EQ(error.data["reason"], "UNAVAILABLE");
}

}  // namespace
}  // namespace bridge

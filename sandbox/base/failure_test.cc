#include "sandbox/base/failure.h"

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

TEST(FailureTest, CarriesItsKindAndItsText) {
  const absl::Status failure = MakeFailure(wire::Reply::STORAGE, "no space");
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(FailureOf(failure), wire::Reply::STORAGE);
  EXPECT_EQ(failure.message(), "no space");
}

TEST(FailureTest, NoFailureIsOk) {
  EXPECT_TRUE(MakeFailure(wire::Reply::NONE, "").ok());
  EXPECT_EQ(FailureOf(absl::OkStatus()), wire::Reply::NONE);
  EXPECT_TRUE(WithFailure(wire::Reply::STORAGE, absl::OkStatus()).ok());
}

TEST(FailureTest, AnyOtherStatusIsAFaultWhateverItsCode) {
  for (const absl::Status& status :
       {absl::UnavailableError("x"), absl::NotFoundError("x"),
        absl::FailedPreconditionError("x")}) {
    EXPECT_EQ(FailureOf(status), wire::Reply::FAULT);
    EXPECT_EQ(FailureOf(WithFailure(wire::Reply::NONE, status)),
              wire::Reply::FAULT);
  }
}

TEST(FailureTest, AKindOfALaterVersionIsAFault) {
  const auto unknown = static_cast<wire::Reply::Failure>(1000);
  EXPECT_EQ(FailureOf(MakeFailure(unknown, "x")), wire::Reply::FAULT);
}

TEST(FailureTest, TheFirstKindStays) {
  const absl::Status marked = WithFailure(
      wire::Reply::FAULT,
      WithFailure(wire::Reply::WORKSPACE, absl::InvalidArgumentError("x")));
  EXPECT_EQ(FailureOf(marked), wire::Reply::WORKSPACE);
  EXPECT_EQ(marked.message(), "x");
}

}  // namespace
}  // namespace sandbox

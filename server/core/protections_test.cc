#include "server/core/protections.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/v1/error_reason.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using Feature = Protections::Feature;

Feature Make(const std::string& name, Feature::State state) {
  Feature feature;
  feature.set_name(name);
  feature.set_state(state);
  feature.set_detail("why " + name);
  return feature;
}

absl::Status Check(const std::vector<std::string>& required) {
  const Protections protections(
      std::vector<Feature>{Make("seccomp", Feature::ENFORCED),
                           Make("memory limit", Feature::DEGRADED),
                           Make("landlock", Feature::MISSING)});
  corral::v1::Sandbox wanted;
  *wanted.mutable_required_protections() = {required.begin(), required.end()};
  return protections.Check(wanted);
}

TEST(ProtectionsTest, AdmitsWhatTheHostEnforces) {
  EXPECT_TRUE(Check({}).ok());
  EXPECT_TRUE(Check({"seccomp"}).ok());
}

TEST(ProtectionsTest, RefusesWhatIsDegradedOrMissing) {
  const absl::Status status = Check({"seccomp", "memory limit", "landlock"});
  EXPECT_EQ(ReasonOf(status), corral::v1::ISOLATION_UNAVAILABLE);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("memory limit (degraded: why memory limit), "
                        "landlock (missing: why landlock)"));
  EXPECT_TRUE(
      status.GetPayload("type.googleapis.com/google.rpc.PreconditionFailure")
          .has_value());
}

TEST(ProtectionsTest, NamesTheKnownOnes) {
  const absl::Status status = Check({"magic"});
  EXPECT_EQ(ReasonOf(status), corral::v1::INVALID_FIELD);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("landlock, memory limit, seccomp"));
  EXPECT_FALSE(Check(std::vector<std::string>(101, "seccomp")).ok());
}

TEST(ProtectionsTest, MayBeDemandedUpToAHundredTimes) {
  EXPECT_TRUE(Check(std::vector<std::string>(100, "seccomp")).ok());
}

}  // namespace
}  // namespace server

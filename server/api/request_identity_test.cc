#include "server/api/request_identity.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"

namespace server {
namespace {

TEST(RequestIdentityTest, TwoRequestsAreTheSameIfAllTheirFieldsAre) {
  corral::v1::StartExecutionRequest request;
  request.set_parent("tenants/default/sandboxes/a");
  request.mutable_command()->add_argv("true");
  const auto first = Identify(request, "r");
  EXPECT_EQ(first.request_id(), "r");
  EXPECT_EQ(first.digest().size(), 32);
  EXPECT_TRUE(AreSame(first, Identify(request, "r")));
  request.mutable_command()->add_argv("");
  EXPECT_FALSE(AreSame(first, Identify(request, "r")));
}

TEST(RequestIdentityTest, RequestsOfTwoKindsAreNeverTheSame) {
  corral::v1::GetSandboxRequest get;
  get.set_name("n");
  corral::v1::DeleteSandboxRequest remove;
  remove.set_name("n");
  EXPECT_FALSE(AreSame(Identify(get, ""), Identify(remove, "")));
}

TEST(RequestIdentityTest, WithoutADigestNothingIsTheSame) {
  EXPECT_FALSE(AreSame({}, {}));
}

// A server finds the digests of an earlier one in its records.
TEST(RequestIdentityTest, TheDigestIsThatOfTheTypeAndTheBytes) {
  corral::v1::GetSandboxRequest request;
  request.set_name("n");
  // printf 'corral.v1.GetSandboxRequest\0\n\1n' | sha256sum
  EXPECT_EQ(absl::BytesToHexString(Identify(request, "r").digest()),
            "9c414e7e14587a435e89b2de5f7f33b62b45f11f4253391b7a5ecf3e4a03549c");
}

TEST(RequestIdentityTest, TheOrderInWhichAMapWasFilledMakesNoDifference) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "protobuf lays maps out differently for TSan";
#endif
  constexpr int kEntries = 100;
  google::protobuf::Struct up;
  google::protobuf::Struct down;
  for (int i = 0; i < kEntries; ++i) {
    (*up.mutable_fields())[absl::StrCat(i)].set_number_value(i);
    const int other = kEntries - 1 - i;
    (*down.mutable_fields())[absl::StrCat(other)].set_number_value(other);
  }
  EXPECT_TRUE(AreSame(Identify(up, ""), Identify(down, "")));
}

}  // namespace
}  // namespace server

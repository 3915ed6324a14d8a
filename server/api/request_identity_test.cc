#include "server/api/request_identity.h"

#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
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

}  // namespace
}  // namespace server

#include "bridge/client/resource_name.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::HasSubstr;
using ::tests::StatusIs;

constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e2";

TEST(ResourceNameTest, CompletesShortNames) {
  EXPECT_EQ(*SandboxName("s1"), "tenants/default/sandboxes/s1");
  EXPECT_EQ(*ExecutionName("s1/e2"), kExecution);
}

TEST(ResourceNameTest, LeavesFullNamesAsTheyAre) {
  EXPECT_EQ(*SandboxName("tenants/t/sandboxes/s1"), "tenants/t/sandboxes/s1");
  EXPECT_EQ(*ExecutionName(kExecution), kExecution);
}

TEST(ResourceNameTest, ShortensNamesForPeople) {
  EXPECT_EQ(ShortName(kExecution), "s1/e2");
  EXPECT_EQ(ShortName("tenants/default/sandboxes/s1"), "s1");
  EXPECT_EQ(ShortName("a/b/c"), "a/b/c");
}

TEST(ResourceNameTest, ReturnsTheSandboxOfAnExecution) {
  EXPECT_EQ(SandboxOf(kExecution), "tenants/default/sandboxes/s1");
}

TEST(ResourceNameTest, TakesIdsOfUpToSixtyThreeCharacters) {
  EXPECT_TRUE(SandboxName(std::string(63, 'a')).ok());
  EXPECT_FALSE(SandboxName(std::string(64, 'a')).ok());
}

TEST(ResourceNameTest, RefusesTextThatIsNotAName) {
  for (const char* name :
       {"", "S1", "s_1", "-s", "s-", "a/b", "/", "s1/", "tenants/t/sandboxes",
        "x/t/sandboxes/s", "tenants/t/boxes/s", "tenants//sandboxes/s",
        "tenants/T/sandboxes/s", kExecution,
        "tenants/t/sandboxes/s/executions/"}) {
    EXPECT_THAT(SandboxName(name).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
  for (const char* name :
       {"", "s1", "s1/", "/e1", "s1/e1/x", "a/b/c/d",
        "tenants/t/sandboxes/s/runs/e", "tenants/T/sandboxes/s/executions/e",
        "tenants/t/sandboxes/S/executions/e", "x/t/sandboxes/s/executions/e"}) {
    EXPECT_THAT(ExecutionName(name).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
}

}  // namespace
}  // namespace client

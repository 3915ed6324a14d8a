#include "server/api/names.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST(NamesTest, IdsAreShortLowerCaseAndDoNotBeginOrEndWithADash) {
  EXPECT_TRUE(IsValidId("a"));
  EXPECT_TRUE(IsValidId("0-z"));
  EXPECT_TRUE(IsValidId(std::string(63, 'a')));
  for (const std::string& id :
       {std::string(), std::string("-"), std::string("-a"), std::string("a-"),
        std::string("A"), std::string("a/b"), std::string(".."),
        std::string("a\0b", 3), std::string(64, 'a')}) {
    EXPECT_FALSE(IsValidId(id)) << id;
  }
}

TEST(NamesTest, ParsesWhatItFormats) {
  const absl::StatusOr<ExecutionName> name =
      ParseExecutionName("name", FormatExecutionName("box", "job-1"));
  ASSERT_THAT(name.status(), IsOk());
  EXPECT_EQ(name->sandbox, "box");
  EXPECT_EQ(name->execution, "job-1");
  EXPECT_EQ(ParseSandboxName("name", FormatSandboxName("box")).value(), "box");
}

TEST(NamesTest, RefusesWhatIsNoName) {
  for (const char* name :
       {"", "box", "tenants/default/sandboxes", "tenants/default/sandboxes/",
        "tenants/default/boxes/a", "tenants/default/sandboxes/a/",
        "/tenants/default/sandboxes/a", "tenants/default/sandboxes/../a"}) {
    EXPECT_THAT(
        ParseSandboxName("parent", name).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parent")))
        << name;
  }
  EXPECT_THAT(
      ParseExecutionName("name", "tenants/default/sandboxes/-/executions/a")
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name")));
}

TEST(NamesTest, AnotherTenantHasNothing) {
  EXPECT_EQ(ParseSandboxName("name", "tenants/b/sandboxes/a").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ParseExecutionName("name", "tenants/b/sandboxes/a/executions/c")
                .status()
                .code(),
            absl::StatusCode::kNotFound);
}

TEST(NamesTest, ADashStandsForAllSandboxes) {
  EXPECT_EQ(ParseSandboxName("parent", "tenants/default/sandboxes/-").value(),
            kAnySandbox);
}

}  // namespace
}  // namespace server

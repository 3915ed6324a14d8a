#include "server/api/names.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST(NamesTest, AcceptsShortLowerCaseIdsWithoutADashAtEitherEnd) {
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
  const ExecutionName name(SandboxName("box"), "job-1");
  EXPECT_EQ(name.ToString(), "tenants/default/sandboxes/box/executions/job-1");
  const auto parsed = ExecutionName::Parse("name", name.ToString());
  ASSERT_THAT(parsed.status(), IsOk());
  EXPECT_EQ(parsed->sandbox().id(), "box");
  EXPECT_EQ(parsed->id(), "job-1");
  const auto sandbox = SandboxName::Parse("name", name.sandbox().ToString());
  ASSERT_THAT(sandbox.status(), IsOk());
  EXPECT_EQ(sandbox->id(), "box");
}

TEST(NamesTest, RefusesATextThatIsNotAName) {
  for (const char* name :
       {"", "box", "tenants/default/sandboxes", "tenants/default/sandboxes/",
        "tenants/default/boxes/a", "tenants/default/sandboxes/a/",
        "/tenants/default/sandboxes/a", "tenants/default/sandboxes/../a"}) {
    EXPECT_THAT(
        SandboxName::Parse("parent", name).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parent")))
        << name;
  }
  EXPECT_THAT(
      ExecutionName::Parse("name", "tenants/default/sandboxes/-/executions/a")
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name")));
}

TEST(NamesTest, ReportsNotFoundForAnotherTenant) {
  EXPECT_EQ(SandboxName::Parse("name", "tenants/b/sandboxes/a").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ExecutionName::Parse("name", "tenants/b/sandboxes/a/executions/c")
                .status()
                .code(),
            absl::StatusCode::kNotFound);
}

TEST(NamesTest, AcceptsADashForAllSandboxesInAListOnly) {
  const char* all = "tenants/default/sandboxes/-";
  const auto parent = SandboxName::ParseListParent("parent", all);
  ASSERT_THAT(parent.status(), IsOk());
  EXPECT_TRUE(parent->is_any());
  EXPECT_FALSE(SandboxName("box").is_any());
  EXPECT_EQ(SandboxName::Parse("name", all).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NamesTest, RefusesAnIdOfAnyPartThatIsNotValid) {
  for (const char* name : {"tenants/-/sandboxes/a", "tenants/a/sandboxes/A"}) {
    EXPECT_THAT(SandboxName::Parse("name", name).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name")))
        << name;
  }
  EXPECT_THAT(
      ExecutionName::Parse("name", "tenants/default/sandboxes/a/executions/-")
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name")));
}

TEST(NamesTest, AClientMayChooseAValidIdOrNone) {
  EXPECT_THAT(CheckChosenId("id", ""), IsOk());
  EXPECT_THAT(CheckChosenId("id", "a-1"), IsOk());
  EXPECT_THAT(CheckChosenId("id", "A"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("id is")));
}

TEST(NamesTest, KnowsOneTenant) {
  EXPECT_THAT(CheckTenantName("parent", "tenants/default"), IsOk());
  EXPECT_THAT(
      CheckTenantName("parent", "tenants/other"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parent is")));
}

}  // namespace
}  // namespace server

#include "bridge/acp/requests/permission.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

std::string Selected(const std::string& members) {
  const std::string line = absl::StrCat(R"({"id":1,)", members, "}");
  return SelectedOption(Message::Classify(line));
}

TEST(PermissionTest, ReadsWhatTheUserSelected) {
  EXPECT_EQ(
      Selected(
          R"("result":{"outcome":{"outcome":"selected","optionId":"allow_once"}})"),
      "allow_once");
}

TEST(PermissionTest, TakesEverythingElseForNoSelection) {
  for (const char* members :
       {R"("error":{"code":-32601,"message":"Method not found"})",
        R"("result":null)", R"("result":[])", R"("result":{})",
        R"("result":{"outcome":1})", R"("result":{"outcome":[]})",
        R"("result":{"outcome":{"outcome":"cancelled"}})",
        R"("result":{"outcome":{"outcome":"selected","optionId":1}})"}) {
    EXPECT_EQ(Selected(members), "") << members;
  }
}

TEST(PermissionTest, AnOptionHasItsKindAsItsId) {
  EXPECT_EQ(PermissionOption("allow_always", "Yes"),
            (Json{{"optionId", "allow_always"},
                  {"name", "Yes"},
                  {"kind", "allow_always"}}));
}

}  // namespace
}  // namespace bridge

#include "bridge/acp/display/display_route.h"

#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

ClientFeatures Parse(const std::string& capabilities) {
  return ParseClientFeatures(R"({"clientCapabilities":)" + capabilities + "}");
}

TEST(DisplayRouteTest, TakesTheBestThatTheClientAnnounced) {
  EXPECT_EQ(ChooseRoute(
                DisplayChoice::kAuto,
                Parse(R"({"terminal":true,"_meta":{"terminal_output":true}})")),
            DisplayRoute::kMeta);
  EXPECT_EQ(ChooseRoute(DisplayChoice::kAuto, Parse(R"({"terminal":true})")),
            DisplayRoute::kMirror);
  EXPECT_EQ(ChooseRoute(DisplayChoice::kAuto, Parse("{}")),
            DisplayRoute::kText);
}

TEST(DisplayRouteTest, TakesTheRouteThatIsChosen) {
  const ClientFeatures both =
      Parse(R"({"terminal":true,"_meta":{"terminal_output":true}})");
  EXPECT_EQ(ChooseRoute(DisplayChoice::kMeta, both), DisplayRoute::kMeta);
  EXPECT_EQ(ChooseRoute(DisplayChoice::kMirror, both), DisplayRoute::kMirror);
}

TEST(DisplayRouteTest, TakesNoRouteThatTheClientDoesNotKnow) {
  EXPECT_EQ(ChooseRoute(DisplayChoice::kMeta, Parse(R"({"terminal":true})")),
            DisplayRoute::kText);
  EXPECT_EQ(ChooseRoute(DisplayChoice::kMirror,
                        Parse(R"({"_meta":{"terminal_output":true}})")),
            DisplayRoute::kText);
  EXPECT_EQ(ChooseRoute(
                DisplayChoice::kText,
                Parse(R"({"terminal":true,"_meta":{"terminal_output":true}})")),
            DisplayRoute::kText);
}

TEST(DisplayRouteTest, UsesTheMemberThatTheClientReads) {
  EXPECT_EQ(Parse(R"({"_meta":{"terminal_output_delta":true}})").output_member,
            "terminal_output_delta");
  EXPECT_EQ(
      Parse(
          R"({"_meta":{"terminal_output_delta":true,"terminal_output":true}})")
          .output_member,
      "terminal_output");
  for (const char* none :
       {R"({"_meta":null})", R"({"_meta":{"terminal_output":1}})", "null", "[]",
        ""}) {
    EXPECT_EQ(Parse(none).output_member, "") << none;
  }
}

TEST(DisplayRouteTest, KnowsItsNames) {
  EXPECT_EQ(*ParseDisplayChoice("auto"), DisplayChoice::kAuto);
  EXPECT_EQ(*ParseDisplayChoice("meta"), DisplayChoice::kMeta);
  EXPECT_EQ(*ParseDisplayChoice("mirror"), DisplayChoice::kMirror);
  EXPECT_EQ(*ParseDisplayChoice("text"), DisplayChoice::kText);
  EXPECT_FALSE(ParseDisplayChoice("Zed").ok());
}

}  // namespace
}  // namespace bridge

#include "bridge/mcp/protocol/surrogates.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(ReplaceLoneSurrogates, KeepsPairsAndAllOtherText) {
  const char* const kept[] = {R"({"a":"\ud83d\ude00\u00e9\\ud83d\n"})",
                              R"("\udbff\udc00\uDBFF\uDFFF")",
                              R"("\ud000\uD7FF\ue000\uEFFF")",
                              "",
                              "{",
                              R"("\)",
                              R"("\u)",
                              R"("\ud8")"};
  for (const char* text : kept) {
    EXPECT_EQ(ReplaceLoneSurrogates(text), text);
  }
}

TEST(ReplaceLoneSurrogates, ReplacesHalvesThatStandAlone) {
  EXPECT_EQ(ReplaceLoneSurrogates(R"("\ud800x\uDFFF")"), R"("\ufffdx\ufffd")");
  EXPECT_EQ(ReplaceLoneSurrogates(R"("\ud800\ud83d\ude00")"),
            R"("\ufffd\ud83d\ude00")");
  EXPECT_EQ(ReplaceLoneSurrogates(R"(\udc00\ud800)"), R"(\ufffd\ufffd)");
  EXPECT_EQ(ReplaceLoneSurrogates(R"(\ud800\ue000)"), R"(\ufffd\ue000)");
}

}  // namespace
}  // namespace bridge

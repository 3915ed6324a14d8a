#include "bridge/acp/display/tool_calls.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(ToolCallsTest, FindsTheOnlyRunningCommand) {
  ToolCalls calls;
  EXPECT_EQ(calls.OnlyRunningCommand("s"), std::nullopt);
  calls.Touch("s", "a").Set("kind", "\"execute\"");
  calls.Touch("s", "b").Set("kind", "\"read\"");
  calls.Touch("other", "c").Set("kind", "\"execute\"");
  EXPECT_EQ(calls.OnlyRunningCommand("s"), "a");
  calls.Touch("s", "d").Set("kind", "\"execute\"");
  EXPECT_EQ(calls.OnlyRunningCommand("s"), std::nullopt);
  calls.Close("s");
  EXPECT_EQ(calls.Find("s", "a"), nullptr);
  EXPECT_NE(calls.Find("other", "c"), nullptr);
}

TEST(ToolCallsTest, ForgetsTheOldest) {
  ToolCalls calls;
  for (size_t i = 0; i < ToolCalls::kMaxPerSession; ++i) {
    calls.Touch("s", absl::StrCat(i));
  }
  calls.Find("s", "0")->Set("title", "7");
  calls.Touch("s", "0");
  calls.Touch("s", "new");
  ASSERT_NE(calls.Find("s", "0"), nullptr);
  EXPECT_EQ(calls.Find("s", "0")->Get("title"), "7");
  EXPECT_EQ(calls.Find("s", "1"), nullptr);
}

}  // namespace
}  // namespace bridge

#include "bridge/acp/display/tool_call.h"

#include <string>

#include "bridge/jsonrpc/members.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(ToolCallTest, MergesWhatItsMessagesSay) {
  ToolCall call;
  call.Merge(*ScanObject(
      R"({"sessionUpdate":"tool_call","toolCallId":"c","title":"t",)"
      R"("rawInput":{"n":9007199254740993},"_meta":{"x":1}})"));
  call.Merge(
      *ScanObject(R"({"sessionUpdate":"tool_call_update","toolCallId":"c",)"
                  R"("title":null,"status":"in_progress"})"));
  EXPECT_EQ(call.Announcement("[7]", R"("a":2)"),
            R"({"sessionUpdate":"tool_call","toolCallId":"c","title":"t",)"
            R"("rawInput":{"n":9007199254740993},"status":"in_progress",)"
            R"("content":[7],"_meta":{"a":2,"x":1}})");
}

TEST(ToolCallTest, AnnouncesItselfWithTheContentThatIsGiven) {
  for (const char* meta : {"", "{}", "[1]", "7"}) {
    ToolCall call;
    call.Set("toolCallId", "\"c\"");
    call.Set("content", "[1]");
    call.Set("_meta", meta);
    EXPECT_EQ(call.Announcement("[7]", R"("a":2)"),
              R"({"sessionUpdate":"tool_call","toolCallId":"c",)"
              R"("content":[7],"_meta":{"a":2}})");
  }
}

TEST(ToolCallTest, KnowsWhetherItRunsCommands) {
  ToolCall call;
  EXPECT_FALSE(call.IsRunningCommand());
  call.Set("kind", "\"execute\"");
  EXPECT_TRUE(call.IsRunningCommand());
  call.Set("status", "\"in_progress\"");
  EXPECT_TRUE(call.IsRunningCommand());
  call.Set("status", "\"completed\"");
  EXPECT_FALSE(call.IsRunningCommand());
  call.Set("status", "\"pending\"");
  EXPECT_TRUE(call.IsRunningCommand());
  call.Set("kind", "\"read\"");
  EXPECT_FALSE(call.IsRunningCommand());
}

}  // namespace
}  // namespace bridge

#include "bridge/mcp/tools/tools.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "bridge/mcp/tools/tools_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST_F(ToolsTest, CountCharactersAsJavaScriptDoes) {
  EXPECT_EQ(Call("type", R"({"text":"a\u00e9\u20ac\ud83d\ude00"})")["typed"],
            5);
  EXPECT_EQ(last_text_, "Typed 5 character(s) to terminal");
  EXPECT_EQ(AwaitInput(1), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_THAT(Failure("type", "{}"), HasSubstr("\"text\": expected string"));
}

TEST_F(ToolsTest, SendKeysWithAndWithoutModifiers) {
  EXPECT_EQ(Call("sendKey", R"({"key":"ArrowUp"})")["key"], "ArrowUp");
  EXPECT_EQ(last_text_, "Sent key: ArrowUp");
  EXPECT_EQ(AwaitInput(1), "\x1b[A");
  const struct {
    const char* modifiers;
    const char* bytes;
  } cases[] = {{"[]", "\x1b[A"},
               {"[\"shift\"]", "\x1b[1;2A"},
               {"[\"alt\"]", "\x1b[1;3A"},
               {"[\"ctrl\"]", "\x1b[1;5A"},
               {"[\"shift\",\"alt\",\"ctrl\"]", "\x1b[1;8A"}};
  size_t count = 1;
  for (const auto& example : cases) {
    Call("sendKey", absl::StrCat(R"({"key":"ArrowUp","modifiers":)",
                                 example.modifiers, "}"));
    EXPECT_EQ(AwaitInput(++count), example.bytes);
  }
  // A program that wants other bytes for arrows gets them with [] only.
  screen_.mutable_screen()->mutable_modes()->set_application_cursor_keys(true);
  server_.SetScreen(screen_);
  Call("sendKey", R"({"key":"ArrowUp","modifiers":[]})");
  EXPECT_EQ(AwaitInput(++count), "\x1bOA");
  Call("sendKey", R"({"key":"ArrowUp"})");
  EXPECT_EQ(AwaitInput(++count), "\x1b[A");
  EXPECT_THAT(Failure("sendKey", R"({"key":"Nope"})"), HasSubstr("Nope"));
}

TEST_F(ToolsTest, ShowTheTextOfTheScreen) {
  EXPECT_EQ(Call("getContent", "{}")["content"], "old\n$ ls\na");
  EXPECT_FALSE(server_.screens().back().styles());
  EXPECT_EQ(Call("getContent", R"({"visibleOnly":true})")["content"],
            "$ ls\na");
  server_.SetScreen({});
  EXPECT_EQ(Call("getContent", "{}")["content"], "(empty terminal)");
}

TEST_F(ToolsTest, TakeScreenshotsInEachFormat) {
  OrderedJson shot = Call("takeScreenshot", "{}");
  EXPECT_EQ(shot["content"], "$ ls\na");
  EXPECT_EQ(shot["cursor"], (OrderedJson{{"x", 4}, {"y", 1}}));
  EXPECT_EQ(shot["dimensions"], (OrderedJson{{"cols", 6}, {"rows", 2}}));
  EXPECT_FALSE(server_.screens().back().styles());
  shot = Call("takeScreenshot", R"({"format":"ansi"})");
  EXPECT_THAT(shot["content"].get<std::string>(), HasSubstr("\x1b["));
  EXPECT_TRUE(server_.screens().back().styles());
  shot = Call("takeScreenshot", R"({"format":"svg"})");
  EXPECT_THAT(shot["content"].get<std::string>(), StartsWith("<svg"));
  const ToolResult png = Result("takeScreenshot", R"({"format":"png"})");
  ASSERT_EQ(png.content.size(), 2);
  EXPECT_EQ(png.content[0]["mimeType"], "image/png");
  std::string bytes;
  EXPECT_TRUE(
      absl::Base64Unescape(png.content[0]["data"].get<std::string>(), &bytes));
  EXPECT_THAT(bytes, StartsWith("\x89PNG"));
  EXPECT_EQ((*png.structured)["cursor"], (OrderedJson{{"x", 4}, {"y", 1}}));
}

TEST_F(ToolsTest, ClearResizeAndSignal) {
  EXPECT_EQ(Call("clear", "{}")["cleared"], true);
  EXPECT_THAT(server_.clearings(), ElementsAre(Shell()));
  EXPECT_EQ(Call("resize", R"({"cols":4096,"rows":2048})"),
            (OrderedJson{{"cols", 4096}, {"rows", 2048}}));
  const auto size = server_.FindExecution(Shell())->WaitForResize();
  EXPECT_EQ(size.columns(), 4096);
  EXPECT_EQ(size.rows(), 2048);
  EXPECT_THAT(Failure("resize", R"({"cols":4097,"rows":1})"),
              HasSubstr("integer from 1 to 4096"));
  EXPECT_THAT(Failure("resize", R"({"cols":1,"rows":2049})"),
              HasSubstr("integer from 1 to 2048"));
  EXPECT_THAT(Failure("resize", R"({"rows":1})"), HasSubstr("cols"));
  EXPECT_THAT(Failure("signal", R"({"signal":"NOPE"})"),
              HasSubstr("Invalid argument \"signal\": 'NOPE'"));
  EXPECT_EQ(Call("signal", R"({"signal":"HUP"})")["signal"], 1);
  EXPECT_EQ(last_text_, "Sent signal: HUP");
  EXPECT_EQ(server_.signals()[0].signal(), 1);
}

TEST_F(ToolsTest, ManageSessions) {
  const OrderedJson made =
      Call("createSession", R"({"shell":"zsh","cols":90,"rows":20})");
  EXPECT_EQ(made["shell"], "zsh");
  EXPECT_EQ(made["cols"], 90);
  EXPECT_EQ(made["rows"], 20);
  EXPECT_EQ(made["isDefault"], false);
  EXPECT_THAT(made["createdAt"].get<std::string>(),
              MatchesRegex("20[0-9-]{8}T[0-9:]{8}\\.[0-9]{3}Z"));
  EXPECT_THAT(made["lastActivityAt"].get<std::string>(),
              MatchesRegex("20[0-9-]{8}T[0-9:]{8}\\.[0-9]{3}Z"));
  const std::string id = made["sessionId"];
  const OrderedJson other = Call("createSession", "{}");
  EXPECT_EQ(other["shell"], "sh");
  EXPECT_EQ(other["cols"], 120);
  EXPECT_EQ(other["rows"], 40);
  const OrderedJson list = Call("listSessions", "{}");
  ASSERT_EQ(list["sessions"].size(), 3);
  EXPECT_EQ(list["sessions"][0]["isDefault"], true);
  EXPECT_EQ(list["sessions"][1]["sessionId"], id);
  EXPECT_EQ(list["maxSessions"], 5);
  EXPECT_EQ(list["sessionIdleTimeout"], 600);
  Call("type", absl::StrCat(R"({"text":"x","sessionId":")", id, "\"}"));
  AwaitInput(1);
  EXPECT_EQ(server_.inputs()[0].name(), (*terminals_.Find(id))->execution());
  const std::string session = absl::StrCat(R"({"sessionId":")", id, "\"}");
  EXPECT_EQ(Call("destroySession", session)["sessionId"], id);
  EXPECT_EQ(last_text_, absl::StrCat("Session '", id, "' destroyed"));
  EXPECT_EQ(Failure("destroySession", session),
            absl::StrCat("Session '", id, "' not found"));
  EXPECT_EQ(Failure("type", R"({"text":"x","sessionId":"none"})"),
            "Error: Session 'none' not found");
}

TEST_F(ToolsTest, MakeNoSessionWithoutAScreen) {
  for (const char* const size : {R"("cols":0)", R"("cols":4097)"}) {
    EXPECT_THAT(Failure("createSession", absl::StrCat("{", size, "}")),
                HasSubstr("integer from 1 to 4096"));
  }
  for (const char* const size : {R"("rows":0)", R"("rows":2049)"}) {
    EXPECT_THAT(Failure("createSession", absl::StrCat("{", size, "}")),
                HasSubstr("integer from 1 to 2048"));
  }
  EXPECT_EQ(Call("createSession", R"({"cols":4096,"rows":2048})")["cols"],
            4096);
}

TEST_F(ToolsTest, ReadOutputPageByPage) {
  Call("type", R"({"text":"first line\nsecond \u20ac\u20ac\u20ac"})");
  AwaitOutput(11 + 7 + 9);
  OrderedJson page = Call("readOutput", R"({"maxBytes":16})");
  EXPECT_EQ(page, (OrderedJson{{"output", "first line\n"},
                               {"offset", 0},
                               {"nextOffset", 11},
                               {"endOffset", 27}}));
  // Output without the end of a line is returned up to the end of a character.
  page = Call("readOutput", R"({"offset":9,"maxBytes":16})");
  EXPECT_EQ(page["nextOffset"], 11);
  page = Call("readOutput", R"({"offset":11,"maxBytes":16})");
  EXPECT_EQ(page["output"], "second \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
  EXPECT_EQ(page["nextOffset"], 27);
  EXPECT_THAT(Failure("readOutput", R"({"maxBytes":15})"),
              HasSubstr("integer from 16 to 1000000"));
  Call("type", R"({"text":"0123456789abc\u20ac0123"})");
  AwaitOutput(27 + 20);
  page = Call("readOutput", R"({"offset":27,"maxBytes":16})");
  EXPECT_EQ(page["output"], "0123456789abc");
  EXPECT_EQ(page["nextOffset"], 40);
  EXPECT_EQ(page["endOffset"], 47);
}

}  // namespace
}  // namespace bridge

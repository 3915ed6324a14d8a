#include "bridge/acp/display/display.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/acp/display/display_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Json kTerminal = {{"type", "terminal"}, {"terminalId", "T"}};

TEST_F(DisplayTest, AnnouncesATerminalToAClientThatFillsTerminals) {
  display_.OnInitialize(kZed);
  Update("tool_call", R"(,"title":"t","kind":"execute","status":"pending")");
  NextUpdate();
  Open();
  Update("tool_call_update",
         absl::StrCat(R"(,"status":"in_progress",)", kEmbed));
  Json update = NextUpdate();
  // A client creates terminals with this kind of message only, and takes what
  // is missing in it for empty.
  EXPECT_EQ(update["sessionUpdate"], "tool_call");
  EXPECT_EQ(update["toolCallId"], "c");
  EXPECT_EQ(update["title"], "t");
  EXPECT_EQ(update["kind"], "execute");
  EXPECT_EQ(update["status"], "in_progress");
  EXPECT_THAT(update["content"], ElementsAre(kTerminal));
  EXPECT_EQ(update["_meta"],
            (Json{{"terminal_info", {{"terminal_id", "T"}, {"cwd", "/w"}}}}));
  display_.OnOutput("T", "out\n");
  update = NextUpdate();
  EXPECT_EQ(update["sessionUpdate"], "tool_call_update");
  EXPECT_EQ(
      update["_meta"],
      (Json{{"terminal_output", {{"terminal_id", "T"}, {"data", "out\n"}}}}));
  display_.OnEnded("T", {7, std::nullopt});
  update = NextUpdate();
  EXPECT_EQ(
      update["_meta"],
      (Json{{"terminal_exit",
             {{"terminal_id", "T"}, {"exit_code", 7}, {"signal", nullptr}}}}));
  EXPECT_EQ(update["rawOutput"],
            (Json{{"output", "out\n"}, {"exitCode", 7}, {"signal", nullptr}}));
  display_.OnReleased("T");
  Update("tool_call_update", absl::StrCat(R"(,"status":"completed",)", kEmbed));
  update = NextUpdate();
  EXPECT_EQ(update["sessionUpdate"], "tool_call_update");
  EXPECT_THAT(update["content"], ElementsAre(kTerminal));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, SendsWhatCameBeforeTheTerminalWasEmbedded) {
  display_.OnInitialize(kZed);
  Open();
  display_.OnOutput("T", "early");
  display_.OnEnded("T", {std::nullopt, "SIGKILL"});
  EXPECT_THAT(sent_, IsEmpty());
  Update("tool_call", absl::StrCat(",", kEmbed));
  EXPECT_TRUE(NextUpdate()["_meta"].contains("terminal_info"));
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_output"]["data"], "early");
  const Json end = NextUpdate();
  EXPECT_EQ(end["_meta"]["terminal_exit"], (Json{{"terminal_id", "T"},
                                                 {"exit_code", nullptr},
                                                 {"signal", "SIGKILL"}}));
  EXPECT_EQ(end["rawOutput"], (Json{{"output", "early"},
                                    {"exitCode", nullptr},
                                    {"signal", "SIGKILL"}}));
}

TEST_F(DisplayTest, AnnouncesTwoTerminalsOneAfterTheOther) {
  display_.OnInitialize(kZed);
  Open();
  Open("U");
  Update("tool_call", R"(,"content":[{"type":"terminal","terminalId":"T"},)"
                      R"({"type":"terminal","terminalId":"U"}])");
  EXPECT_THAT(NextUpdate()["content"], ElementsAre(kTerminal));
  const Json second = NextUpdate();
  EXPECT_EQ(second["content"].size(), 2u);
  EXPECT_EQ(second["_meta"]["terminal_info"]["terminal_id"], "U");
}

TEST_F(DisplayTest, KeepsMostOutputBackFromAClientThatDoesNotRead) {
  display_.OnInitialize(kZed);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  has_room_ = false;
  display_.OnOutput("T", std::string(kPendingBytes, 'a'));
  display_.OnOutput("T", "last");
  EXPECT_THAT(sent_, IsEmpty());
  has_room_ = true;
  RunUntil([this] { return !sent_.empty(); });
  const std::string data = NextUpdate()["_meta"]["terminal_output"]["data"];
  EXPECT_THAT(data, ::testing::StartsWith("[earlier output is not shown]\na"));
  EXPECT_THAT(data, ::testing::EndsWith("alast"));
  display_.OnOutput("T", "next");
  RunUntil([this] { return !sent_.empty(); });
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_output"]["data"], "next");
}

TEST_F(DisplayTest, ShowsTextInAnyClient) {
  display_.OnInitialize("{}");
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"], "```console\n```");
  display_.OnOutput("T", "one\n");
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\none\n```");
  // The next change is sent later, with what came until then.
  display_.OnOutput("T", "two\n");
  display_.OnOutput("T", "three\n");
  EXPECT_THAT(sent_, IsEmpty());
  RunUntil([this] { return !sent_.empty(); });
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\none\ntwo\nthree\n```");
  display_.OnOutput("T", "four\n");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\none\ntwo\nthree\nfour\n```");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, StopsWhenTheAgentReplacesTheTerminal) {
  display_.OnInitialize("{}");
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  Update("tool_call_update", R"(,"content":[])");
  NextUpdate();
  display_.OnOutput("T", "more");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, GoesOnWithATerminalWhileTheAgentDoesNotReplaceIt) {
  display_.OnInitialize("{}");
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  Update("tool_call_update", R"(,"status":"in_progress")");
  Update("tool_call_update", R"(,"content":null)");
  // Neither another tool call nor one of another session.
  Update("tool_call", R"(,"content":[])", "d");
  EXPECT_FALSE(display_.OnUpdate(
      "", R"({"sessionId":"other","update":{"sessionUpdate":"tool_call",)"
          R"("toolCallId":"c","content":[]}})"));
  sent_.clear();
  display_.OnOutput("T", "out");
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\nout\n```");
}

TEST_F(DisplayTest, GoesOnToFillATerminalThatTheClientHas) {
  display_.OnInitialize(kZed);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  Update("tool_call_update", R"(,"content":[])");
  sent_.clear();
  display_.OnOutput("T", "out");
  const Json update = NextUpdate();
  EXPECT_EQ(update["toolCallId"], "c");
  EXPECT_EQ(update["_meta"]["terminal_output"]["data"], "out");
}

TEST_F(DisplayTest, LeavesATerminalWhereTheAgentHasEmbeddedIt) {
  display_.OnInitialize("{}");
  Update("tool_call", R"(,"kind":"execute","status":"in_progress")");
  Open();
  Update("tool_call", absl::StrCat(R"(,"kind":"read",)", kEmbed), "d");
  sent_.clear();
  // Runs after the timer of the terminal.
  bool later = false;
  loop_.After(absl::Milliseconds(250), [&later] { later = true; });
  RunUntil([&later] { return later; });
  EXPECT_THAT(sent_, IsEmpty());
  display_.OnOutput("T", "out");
  EXPECT_EQ(NextUpdate()["toolCallId"], "d");
}

TEST_F(DisplayTest, ReplacesATerminalOfAnEarlierRun) {
  for (const char* client : {kZed, kTerminals, "{}"}) {
    display_.OnInitialize(client);
    Update("tool_call", absl::StrCat(R"(,"status":"completed",)", kEmbed));
    const Json update = NextUpdate();
    EXPECT_EQ(update["status"], "completed");
    EXPECT_EQ(update["content"][0]["type"], "content");
  }
}

TEST_F(DisplayTest, AttachesATerminalThatTheAgentDoesNotEmbed) {
  display_.OnInitialize(kZed);
  Update("tool_call", R"(,"kind":"execute","status":"in_progress")");
  NextUpdate();
  Open();
  display_.OnOutput("T", "out");
  RunUntil([this] { return !sent_.empty(); });
  const Json update = NextUpdate();
  EXPECT_EQ(update["toolCallId"], "c");
  EXPECT_EQ(update["_meta"]["terminal_info"]["terminal_id"], "T");
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_output"]["data"], "out");
}

TEST_F(DisplayTest, AttachesNoTerminalLateThatHasEndedOrIsForgotten) {
  display_.OnInitialize(kZed);
  Open("U");
  display_.CloseSession("s");
  Open();
  display_.OnOutput("T", "out");
  display_.OnEnded("T", {0, std::nullopt});
  Update("tool_call", R"(,"kind":"execute","status":"in_progress")");
  NextUpdate();
  // Runs after the timers of the terminals.
  bool later = false;
  loop_.After(absl::Milliseconds(250), [&later] { later = true; });
  RunUntil([&later] { return later; });
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, AttachesAShortCommandBeforeItsEndIsReported) {
  display_.OnInitialize("{}");
  Update("tool_call", R"(,"kind":"execute")");
  NextUpdate();
  Open();
  display_.OnOutput("T", "out");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\nout\n```");
}

TEST_F(DisplayTest, AttachesNothingWhenTwoToolCallsRun) {
  display_.OnInitialize("{}");
  Update("tool_call", R"(,"kind":"execute")");
  Update("tool_call", R"(,"kind":"execute")", "d");
  sent_.clear();
  Open();
  display_.OnOutput("T", "out");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, PassesOnWhatHasNoTerminals) {
  for (const char* params :
       {R"({"sessionId":"s","update":{"sessionUpdate":"plan"}})",
        (R"({"sessionId":"s","update":{"sessionUpdate":"tool_call",)"
         R"("toolCallId":"c","content":[{"type":"diff"}]}})"),
        R"({"update":{"sessionUpdate":"tool_call"}})", "[]", ""}) {
    EXPECT_FALSE(display_.OnUpdate("", params)) << params;
  }
}

TEST_F(DisplayTest, LooksForTerminalsInToolCallsThatHaveAnIdOnly) {
  display_.OnInitialize("{}");
  Open();
  for (const char* begin :
       {R"({"sessionId":"s","update":{"sessionUpdate":"plan",)"
        R"("toolCallId":"c",)",
        R"({"sessionId":"s","update":{"sessionUpdate":"tool_call",)",
        R"({"update":{"sessionUpdate":"tool_call","toolCallId":"c",)"}) {
    EXPECT_FALSE(display_.OnUpdate("", absl::StrCat(begin, kEmbed, "}}")))
        << begin;
  }
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, LearnsAboutToolCallsFromPermissionRequests) {
  display_.OnInitialize(kZed);
  display_.OnPermissionRequest(
      R"({"sessionId":"s","toolCall":{"toolCallId":"c","title":"asked"}})");
  Open();
  Update("tool_call_update", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["title"], "asked");
}

TEST_F(DisplayTest, SendsEachPieceOfOutputOnce) {
  display_.OnInitialize(kZed);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  display_.OnOutput("T", "one");
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_output"]["data"], "one");
  display_.OnOutput("T", "two");
  RunUntil([this] { return !sent_.empty(); });
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_output"]["data"], "two");
  display_.OnOutput("T", "");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_FALSE(NextUpdate()["_meta"].contains("terminal_output"));
}

TEST_F(DisplayTest, LeavesTheAgentsOwnOutputAlone) {
  display_.OnInitialize(kZed);
  Open();
  Update("tool_call", absl::StrCat(R"(,"rawOutput":{"x":1},)", kEmbed));
  EXPECT_EQ(NextUpdate()["rawOutput"], (Json{{"x", 1}}));
  display_.OnEnded("T", {0, std::nullopt});
  const Json update = NextUpdate();
  EXPECT_TRUE(update["_meta"].contains("terminal_exit"));
  EXPECT_FALSE(update.contains("rawOutput"));
}

TEST_F(DisplayTest, ShowsNoTerminalOfAnotherSession) {
  display_.OnInitialize(kZed);
  display_.OnOpened({"T", "other", "tenants/t/sandboxes/x/executions/T", "/w"});
  display_.OnOutput("T", "secret");
  Update("tool_call", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "[the output of terminal T is not kept]");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ForgetsTheTerminalsOfAClosedSession) {
  display_.OnInitialize("{}");
  Open();
  Update("tool_call", R"(,"kind":"execute")");
  display_.CloseSession("other");
  Update("tool_call_update", absl::StrCat(",", kEmbed));
  sent_.clear();
  display_.OnOutput("T", "out");
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\nout\n```");
  display_.CloseSession("s");
  Update("tool_call_update", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "[the output of terminal T is not kept]");
  // Its tool calls are forgotten, too.
  Open("U");
  display_.OnOutput("U", "out");
  display_.OnEnded("U", {0, std::nullopt});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, AddsNoTerminalToAToolCallThatHasOne) {
  display_.OnInitialize("{}");
  Open();
  Update("tool_call", absl::StrCat(R"(,"kind":"execute",)", kEmbed));
  NextUpdate();
  Open("U");
  display_.OnOutput("U", "out");
  display_.OnEnded("U", {0, std::nullopt});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ForgetsReleasedTerminalsAboveAThousand) {
  display_.OnInitialize("{}");
  const auto name = [](int i) { return absl::StrCat("T", 1000 + i); };
  const auto embed = [&](int i) {
    Update("tool_call",
           absl::StrCat(R"(,"content":[{"type":"terminal","terminalId":")",
                        name(i), "\"}]"));
    return NextUpdate()["content"][0]["content"]["text"].get<std::string>();
  };
  for (int i = 0; i < 1000; ++i) {
    Open(name(i));
  }
  display_.OnReleased(name(7));
  EXPECT_EQ(embed(7), "```console\n```");
  Open(name(1000));
  EXPECT_EQ(embed(7), "[the output of terminal T1007 is not kept]");
  EXPECT_EQ(embed(0), "```console\n```");
  EXPECT_EQ(embed(1000), "```console\n```");
  // All others are held.
  Open(name(1001));
  EXPECT_EQ(embed(0), "```console\n```");
  EXPECT_EQ(embed(1001), "```console\n```");
}

TEST_F(DisplayTest, LetsAnExecutionBeDeletedAtOnce) {
  Open();
  int deletions = 0;
  display_.BeforeDeletion("T", [&deletions] { ++deletions; });
  display_.BeforeDeletion("unknown", [&deletions] { ++deletions; });
  EXPECT_EQ(deletions, 2);
}

}  // namespace
}  // namespace bridge

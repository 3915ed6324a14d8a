// Mirrors: terminals of the client that run `corral attach`.

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

TEST_F(DisplayTest, RunsAMirrorInAClientWithTerminals) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  const Json creation = NextRequest();
  EXPECT_EQ(creation["method"], "terminal/create");
  EXPECT_EQ(creation["params"]["sessionId"], "s");
  EXPECT_EQ(creation["params"]["command"], "/bin/corral");
  EXPECT_EQ(creation["params"]["outputByteLimit"], 1 << 20);
  EXPECT_EQ(creation["params"]["args"],
            (Json{"attach", "tenants/t/sandboxes/x/executions/T"}));
  Answer(creation, {{"terminalId", "M"}});
  const Json wait = NextRequest();
  EXPECT_EQ(wait["method"], "terminal/wait_for_exit");
  EXPECT_EQ(NextUpdate()["content"][0]["terminalId"], "M");
  // The mirror shows the output; only text for histories follows.
  display_.OnOutput("T", "out");
  EXPECT_THAT(sent_, IsEmpty());
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_EQ(NextUpdate()["rawOutput"]["output"], "out");
  // The execution stays until the mirror has shown everything.
  bool deleted = false;
  display_.OnReleased("T");
  display_.BeforeDeletion("T", [&deleted] { deleted = true; });
  EXPECT_FALSE(deleted);
  Answer(wait, {{"exitCode", 0}, {"signal", nullptr}});
  EXPECT_TRUE(deleted);
  Update("tool_call_update", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["terminalId"], "M");
  display_.OnTurnEnd("s");
  const Json release = NextRequest();
  EXPECT_EQ(release["method"], "terminal/release");
  EXPECT_EQ(release["params"]["terminalId"], "M");
  // It is released once.
  display_.OnTurnEnd("s");
  display_.CloseSession("s");
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(stopped_, IsEmpty());
}

TEST_F(DisplayTest, EndsTheCommandWhoseMirrorTheUserStops) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  Answer(NextRequest(), {{"terminalId", "M"}});
  Answer(NextRequest(), {{"exitCode", 1}, {"signal", "Killed"}});
  EXPECT_THAT(stopped_, ElementsAre("T"));
}

TEST_F(DisplayTest, EndsTheCommandWhoseMirrorEndsWell) {
  display_.OnInitialize(kTerminals);
  OpenMirrored();
  Answer(wait_, {{"exitCode", 0}, {"signal", nullptr}});
  EXPECT_THAT(stopped_, ElementsAre("T"));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ShowsTextUntilTheMirrorIsThere) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["type"], "content");
  NextRequest();
  display_.OnOutput("T", "out");
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\nout\n```");
}

TEST_F(DisplayTest, MakesNoMirrorOfACommandThatDidNotStart) {
  display_.OnInitialize(kTerminals);
  display_.OnOpened({"T", "s", "", "/w"});
  Update("tool_call", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["type"], "content");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ReleasesAMirrorThatStillShowsWhenItHasShownAll) {
  display_.OnInitialize(kTerminals);
  OpenMirrored();
  display_.OnEnded("T", {0, std::nullopt});
  sent_.clear();
  // Somebody still refers to the terminal, or another turn has ended.
  display_.OnTurnEnd("s");
  display_.OnReleased("T");
  display_.OnTurnEnd("other");
  EXPECT_THAT(sent_, IsEmpty());
  display_.OnTurnEnd("s");
  EXPECT_THAT(sent_, IsEmpty());
  Answer(wait_, {{"exitCode", 0}, {"signal", nullptr}});
  EXPECT_EQ(NextRequest()["method"], "terminal/release");
  EXPECT_THAT(stopped_, IsEmpty());
}

TEST_F(DisplayTest, KeepsAMirrorThatTheAgentStillHolds) {
  display_.OnInitialize(kTerminals);
  OpenMirrored();
  display_.OnEnded("T", {0, std::nullopt});
  sent_.clear();
  Answer(wait_, {{"exitCode", 0}, {"signal", nullptr}});
  display_.OnTurnEnd("s");
  display_.OnReleased("T");
  display_.OnTurnEnd("other");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ReleasesTheMirrorsOfAClosedSession) {
  display_.OnInitialize(kTerminals);
  OpenMirrored();
  bool deleted = false;
  display_.BeforeDeletion("T", [&deleted] { deleted = true; });
  display_.CloseSession("other");
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_FALSE(deleted);
  display_.CloseSession("s");
  const Json release = NextRequest();
  EXPECT_EQ(release["method"], "terminal/release");
  EXPECT_EQ(release["params"], (Json{{"sessionId", "s"}, {"terminalId", "M"}}));
  EXPECT_TRUE(deleted);
  Answer(wait_, {{"exitCode", 0}, {"signal", nullptr}});
  EXPECT_THAT(stopped_, IsEmpty());
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ReleasesAMirrorThatOpensAfterItsSessionWasClosed) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  const Json creation = NextRequest();
  display_.CloseSession("s");
  EXPECT_THAT(sent_, IsEmpty());
  Answer(creation, {{"terminalId", "M"}});
  EXPECT_EQ(NextRequest()["params"]["terminalId"], "M");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ReleasesNothingIfAMirrorIsRefusedAfterItsSession) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  const Json creation = NextRequest();
  display_.CloseSession("s");
  Answer(creation, nullptr);
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, ReleasesTheMirrorOfATerminalThatItForgets) {
  display_.OnInitialize(kTerminals);
  OpenMirrored();
  display_.OnReleased("T");
  for (int i = 1; i < 1000; ++i) {
    Open(absl::StrCat("U", i));
  }
  EXPECT_THAT(sent_, IsEmpty());
  Open("U1000");
  const Json release = NextRequest();
  EXPECT_EQ(release["method"], "terminal/release");
  EXPECT_EQ(release["params"]["terminalId"], "M");
}

TEST_F(DisplayTest, MirrorsATerminalThatTheAgentDoesNotEmbed) {
  display_.OnInitialize(kTerminals);
  Update("tool_call", R"(,"kind":"execute","status":"in_progress")");
  sent_.clear();
  Open();
  RunUntil([this] { return !sent_.empty(); });
  const Json update = NextUpdate();
  EXPECT_EQ(update["toolCallId"], "c");
  EXPECT_EQ(update["content"][0]["type"], "content");
  EXPECT_EQ(NextRequest()["method"], "terminal/create");
}

TEST_F(DisplayTest, ShowsNoMirrorThatTheAgentHasReplacedMeanwhile) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  const Json creation = NextRequest();
  Update("tool_call_update", R"(,"content":[])");
  NextUpdate();
  Answer(creation, {{"terminalId", "M"}});
  EXPECT_EQ(NextRequest()["method"], "terminal/wait_for_exit");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, AsksForNoSecondMirrorAfterARefusal) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  Answer(NextRequest(), nullptr);
  NextUpdate();
  Update("tool_call_update", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["type"], "content");
  // It is shown as in a client without terminals.
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_THAT(sent_, IsEmpty());
  bool deleted = false;
  display_.BeforeDeletion("T", [&deleted] { deleted = true; });
  EXPECT_TRUE(deleted);
}

TEST_F(DisplayTest, LetsAnExecutionBeDeletedOnce) {
  display_.OnInitialize(kTerminals);
  OpenMirrored();
  display_.OnEnded("T", {0, std::nullopt});
  Answer(wait_, {{"exitCode", 0}, {"signal", nullptr}});
  int deletions = 0;
  display_.BeforeDeletion("T", [&deletions] { ++deletions; });
  EXPECT_EQ(deletions, 1);
  display_.CloseSession("s");
  EXPECT_EQ(deletions, 1);
}

TEST_F(DisplayTest, LetsAnExecutionBeDeletedWhenItsMirrorIsRefused) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  const Json creation = NextRequest();
  bool deleted = false;
  display_.BeforeDeletion("T", [&deleted] { deleted = true; });
  EXPECT_FALSE(deleted);
  Answer(creation, nullptr);
  EXPECT_TRUE(deleted);
}

TEST_F(DisplayTest, ShowsTextWhenAMirrorFails) {
  display_.OnInitialize(kTerminals);
  for (const std::string id : {"T", "U"}) {
    Open(id);
    Update("tool_call",
           absl::StrCat(R"(,"content":[{"type":"terminal","terminalId":")", id,
                        "\"}]"),
           id);
    NextUpdate();
    const Json creation = NextRequest();
    if (id == "T") {
      Answer(creation, nullptr);  // refused
    } else {
      Answer(creation, {{"terminalId", "M"}});
      const Json wait = NextRequest();
      NextUpdate();
      Answer(wait, {{"exitCode", 125}, {"signal", nullptr}});
      EXPECT_EQ(NextRequest()["method"], "terminal/release");
    }
    EXPECT_EQ(NextUpdate()["content"][0]["type"], "content");
    display_.OnOutput(id, "out");
    EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
              "```console\nout\n```");
  }
  EXPECT_THAT(stopped_, IsEmpty());
}

}  // namespace
}  // namespace bridge

// Tools that wait for a program, and recordings.

#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/mcp/tools/tools_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(ToolsTest, RunACommandToItsEnd) {
  const OrderedJson run = Call("run", R"({"command":"marked"})");
  EXPECT_EQ(AwaitInput(1), "marked\r");
  EXPECT_EQ(run["output"], "out\n");
  EXPECT_EQ(run["exitCode"], 7);
  EXPECT_EQ(run["running"], false);
  EXPECT_EQ(run["truncated"], false);
  EXPECT_EQ(run["offset"], 0);
  const OrderedJson again = Call("run", R"({"command":"marked","maxBytes":2})");
  EXPECT_EQ(again["output"], "t\n");
  EXPECT_EQ(again["truncated"], true);
  EXPECT_EQ(again["offset"], run["nextOffset"]);
}

TEST_F(ToolsTest, RunACommandThatGoesOn) {
  OrderedJson run = Call("run", R"({"command":"begun","timeoutMs":0})");
  EXPECT_EQ(run["running"], true);
  EXPECT_TRUE(run["exitCode"].is_null());
  run = Call("wait", R"({"text":"part","offset":0})");
  EXPECT_EQ(run["reason"], "text");
  EXPECT_EQ(run["output"], "part");
  EXPECT_EQ(run["running"], false);
}

TEST_F(ToolsTest, RunACommandUntilItsMarkThoughItIsSilent) {
  const OrderedJson run =
      Call("run", R"({"command":"begun","timeoutMs":1700})");
  EXPECT_EQ(run["running"], true);
  EXPECT_EQ(run["output"], "part");
}

TEST_F(ToolsTest, ReportNoMarksOfAnEarlierCommand) {
  EXPECT_EQ(Call("run", R"({"command":"marked"})")["exitCode"], 7);
  const OrderedJson run = Call("run", R"({"command":"begun","timeoutMs":0})");
  EXPECT_EQ(run["running"], true);
  EXPECT_TRUE(run["exitCode"].is_null());
}

TEST_F(ToolsTest, RunACommandThatWritesMarksItself) {
  const OrderedJson run =
      Call("run", R"({"command":"\u001b]133;D;9\u0007\u001b]133;C\u0007one)"
                  R"(\u001b]133;C\u0007two\u001b]133;D;3\u0007three)"
                  R"(\u001b]133;D;4\u0007"})");
  EXPECT_EQ(run["output"], "onetwo");
  EXPECT_EQ(run["exitCode"], 3);
}

TEST_F(ToolsTest, LimitTheTimeAndTheOutputOfACall) {
  for (const char* const tool : {"run", "wait"}) {
    const std::string call = R"({"command":"x",)";
    EXPECT_THAT(Failure(tool, call + R"("timeoutMs":3600001})"),
                HasSubstr("integer from 0 to 3600000"));
    for (const char* const bytes : {"0", "1000001"}) {
      EXPECT_THAT(
          Failure(tool, absl::StrCat(call, R"("maxBytes":)", bytes, "}")),
          HasSubstr("integer from 1 to 1000000"));
    }
  }
  EXPECT_EQ(server_.inputs().size(), 0);
}

TEST_F(ToolsTest, CutTheOutputBetweenCharacters) {
  Call("type", R"({"text":"\u20ac\u20ac"})");
  AwaitOutput(6);
  OrderedJson wait = Call("wait", R"({"text":"\u20ac","maxBytes":5})");
  EXPECT_EQ(wait["output"], "\xe2\x82\xac");
  EXPECT_EQ(wait["truncated"], true);
  wait = Call("wait", R"({"text":"\u20ac","maxBytes":6})");
  EXPECT_EQ(wait["output"], "\xe2\x82\xac\xe2\x82\xac");
  EXPECT_EQ(wait["truncated"], false);
  EXPECT_EQ(wait["offset"], 0);
  EXPECT_EQ(wait["nextOffset"], 6);
}

TEST_F(ToolsTest, WaitInTheSessionThatIsNamed) {
  const OrderedJson made = Call("createSession", "{}");
  const std::string session =
      absl::StrCat(R"("sessionId":)", SerializeOrdered(made["sessionId"]));
  Call("type", absl::StrCat(R"({"text":"there",)", session, "}"));
  EXPECT_EQ(
      Call("wait", absl::StrCat(R"({"text":"there",)", session, "}"))["reason"],
      "text");
  EXPECT_EQ(Failure("wait", R"({"sessionId":"none"})"),
            "Error: Session 'none' not found");
}

TEST_F(ToolsTest, RunACommandThatEndsTheShell) {
  const OrderedJson run = Call("run", R"({"command":"exit"})");
  EXPECT_EQ(run["exitCode"], 5);
  EXPECT_EQ(run["running"], false);
}

TEST_F(ToolsTest, TakeSilenceForTheEndInAShellWithoutMarks) {
  const OrderedJson run = Call("run", R"({"command":"unmarked"})");
  EXPECT_EQ(run["output"], "unmarked");
  EXPECT_TRUE(run["exitCode"].is_null());
  EXPECT_EQ(run["running"], false);
}

TEST_F(ToolsTest, EndARunThatTheClientCancels) {
  cancelled_ = true;
  EXPECT_EQ(Call("run", R"({"command":"begun"})")["running"], false);
  EXPECT_EQ(Call("wait", "{}")["reason"], "cancelled");
}

TEST_F(ToolsTest, WaitForATextAPatternSilenceOrTheEnd) {
  Call("type", R"({"text":"one two"})");
  AwaitOutput(7);
  EXPECT_EQ(Call("wait", R"({"text":"one"})")["reason"], "text");
  EXPECT_EQ(Call("wait", R"({"regex":"t.o"})")["reason"], "regex");
  EXPECT_EQ(Call("wait", R"({"silenceMs":1})")["reason"], "silence");
  OrderedJson wait =
      Call("wait", R"({"text":"none","regex":"no+ne","timeoutMs":1})");
  EXPECT_EQ(wait["reason"], "timeout");
  EXPECT_EQ(wait["output"], "one two");
  EXPECT_EQ(wait["running"], true);
  // Only what came after the last input counts.
  Call("type", R"({"text":"x"})");
  AwaitOutput(8);
  EXPECT_EQ(Call("wait", R"({"text":"one","timeoutMs":1})")["reason"],
            "timeout");
  EXPECT_EQ(Call("wait", R"({"text":"one","offset":0})")["reason"], "text");
  EXPECT_THAT(Failure("wait", R"({"regex":"("})"),
              HasSubstr("Invalid argument \"regex\""));
  const auto terminal = *terminals_.Find("");
  server_.FindExecution(terminal->execution())->Signal(9);
  EXPECT_EQ(Call("wait", R"({"text":"none"})")["reason"], "exit");
  wait = Call("wait", R"({"text":"none"})");
  EXPECT_EQ(wait["reason"], "exit") << "asked after the end";
  EXPECT_EQ(wait["exitCode"], 137);
}

TEST_F(ToolsTest, RecordAndSayWhatTheyDo) {
  const std::string directory = ::testing::TempDir() + "/recordings";
  const std::string where = absl::StrCat(R"("outputDir":")", directory, "\"");
  const OrderedJson started =
      Call("startRecording", absl::StrCat("{", where, "}"));
  EXPECT_THAT(started["path"].get<std::string>(), StartsWith(directory));
  EXPECT_EQ(started["format"], "v2");
  EXPECT_EQ(started["mode"], "always");
  EXPECT_EQ(started["maxDuration"], 3600);
  EXPECT_EQ(started["inactivityTimeout"], 600);
  EXPECT_EQ(started["message"],
            "Recording will auto-stop after 60 minutes or 10 minutes of "
            "inactivity");
  const std::string busy = Failure("startRecording", "{}");
  EXPECT_THAT(busy, HasSubstr("A recording is already in progress"));
  EXPECT_THAT(busy, HasSubstr(started["recordingId"].get<std::string>()));
  EXPECT_THAT(busy, HasSubstr(started["path"].get<std::string>()));
  Call("type", R"({"text":"recorded"})");
  AwaitOutput(8);
  const OrderedJson stopped = Call("stopRecording", Id(started));
  EXPECT_EQ(stopped["recordingId"], started["recordingId"]);
  EXPECT_EQ(stopped["path"], started["path"]);
  EXPECT_EQ(stopped["saved"], true);
  EXPECT_EQ(stopped["mode"], "always");
  EXPECT_EQ(stopped["stopReason"], "explicit");
  const std::string cast = tests::ReadFile(stopped["path"].get<std::string>());
  EXPECT_EQ(stopped["bytesWritten"], cast.size());
  const std::string path = stopped["path"];
  EXPECT_THAT(
      tests::ReadFile(path.substr(0, path.rfind('.')) + ".meta.json"),
      HasSubstr(absl::StrCat(
          "\"durationMs\": ", SerializeOrdered(stopped["durationMs"]), ",")));
  EXPECT_THAT(cast, HasSubstr("recorded"));
  const OrderedJson endless =
      Call("startRecording",
           absl::StrCat("{", where,
                        R"(,"mode":"on-failure","maxDuration":0,)"
                        R"("inactivityTimeout":0,"format":"v2"})"));
  EXPECT_EQ(endless["mode"], "on-failure");
  EXPECT_FALSE(endless.contains("message"));
  const OrderedJson dropped = Call("stopRecording", Id(endless));
  EXPECT_EQ(dropped["saved"], false);
  EXPECT_EQ(dropped["mode"], "on-failure");
  EXPECT_EQ(
      Call("startRecording",
           absl::StrCat(
               "{", where,
               R"(,"maxDuration":0,"inactivityTimeout":119})"))["message"],
      "Recording will auto-stop after 1 minute of inactivity");
}

TEST_F(ToolsTest, RecordWithTheLimitsOfTheCall) {
  const OrderedJson started =
      Call("startRecording",
           absl::StrCat(R"({"outputDir":")", ::testing::TempDir(),
                        R"(/limits","idleTimeLimit":0.5,"maxDuration":90,)"
                        R"("inactivityTimeout":0})"));
  EXPECT_EQ(started["message"], "Recording will auto-stop after 1 minute");
  const RecordingOptions options = recorder_.active()->options;
  EXPECT_EQ(options.idle_time_limit, 0.5);
  EXPECT_EQ(options.max_duration, 90);
  EXPECT_EQ(options.inactivity_timeout, 0);
  Call("stopRecording", Id(started));
  EXPECT_THAT(Failure("startRecording", R"({"format":"v3"})"),
              HasSubstr("expected 'v2'"));
  EXPECT_THAT(Failure("startRecording", R"({"mode":"never"})"),
              HasSubstr("'always'"));
  EXPECT_THAT(Failure("stopRecording", "{}"), HasSubstr("recordingId"));
  EXPECT_FALSE(recorder_.active().has_value());
}

TEST_F(ToolsTest, RecordFromTheScreenOn) {
  Call("type", R"({"text":"before"})");
  AwaitOutput(6);
  screen_.mutable_screen()->set_end_offset(3);
  server_.SetScreen(screen_);
  const OrderedJson started = Call(
      "startRecording", absl::StrCat(R"({"startWithScreen":true,"outputDir":")",
                                     ::testing::TempDir(), "/screen\"}"));
  EXPECT_TRUE(server_.screens().back().styles());
  Call("type", R"({"text":"after"})");
  AwaitOutput(11);
  const OrderedJson stopped = Call("stopRecording", Id(started));
  const std::string cast = tests::ReadFile(stopped["path"].get<std::string>());
  EXPECT_THAT(cast, HasSubstr("\"width\":6,\"height\":2"));
  EXPECT_THAT(cast, HasSubstr("$ ls"));
  EXPECT_THAT(cast, HasSubstr("ore\"]"));
  EXPECT_THAT(cast, HasSubstr("\"after\"]"));
  EXPECT_THAT(cast, Not(HasSubstr("before")));
}

TEST_F(ToolsTest, RecordNoOutputThatTheScreenShowsAlready) {
  Call("type", R"({"text":"ab"})");
  AwaitOutput(2);
  // The screen is ahead of the output that has arrived.
  screen_.mutable_screen()->set_end_offset(7);
  server_.SetScreen(screen_);
  const OrderedJson started = Call(
      "startRecording", absl::StrCat(R"({"startWithScreen":true,"outputDir":")",
                                     ::testing::TempDir(), "/ahead\"}"));
  Call("type", R"({"text":"cdefghi"})");
  AwaitOutput(9);
  const OrderedJson stopped = Call("stopRecording", Id(started));
  const std::string cast = tests::ReadFile(stopped["path"].get<std::string>());
  EXPECT_THAT(cast, HasSubstr("\"hi\"]"));
  EXPECT_THAT(cast, Not(HasSubstr("cdefg")));
}

}  // namespace
}  // namespace bridge

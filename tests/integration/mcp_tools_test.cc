// Commands, output, pictures, recordings and rules of corral-mcp with the real
// server.

#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "bridge/jsonrpc/json.h"
#include "gtest/gtest.h"
#include "tests/integration/mcp_fixture.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using bridge::OrderedJson;

TEST_F(McpTest, ReturnsTheOutputPageByPage) {
  const auto ran = bridge::ParseOrderedJson(
      Call("run", {{"command", "seq 1 2000"}, {"maxBytes", 10}}));
  OrderedJson offset = (*ran)["offset"];
  std::string text;
  while (!HasFailure()) {
    const auto page = bridge::ParseOrderedJson(
        Call("readOutput", {{"offset", offset}, {"maxBytes", 1000}}));
    EXPECT_EQ((*page)["offset"], offset);
    text += (*page)["output"].get<std::string>();
    offset = (*page)["nextOffset"];
    if (offset == (*page)["endOffset"]) {
      break;
    }
  }
  EXPECT_TRUE(absl::StrContains(text, "\n1\n2\n3\n")) << text;
  EXPECT_TRUE(absl::StrContains(text, "\n1999\n2000\n")) << text;
}

TEST_F(McpTest, AsksItsUserBeforeACommandAndObeys) {
  EndMcp();
  const std::string rules = ::testing::TempDir() + "/rules";
  const std::string audit = ::testing::TempDir() + "/audit";
  WriteFile(rules, R"(rule { decision: ASK program: "echo" }
                      rule { decision: ALLOW program: "true" }
                      otherwise: DENY)");
  StartMcp({"--gate", rules, "--audit", audit});
  EXPECT_TRUE(absl::StrContains(Call("run", {{"command", "echo x"}}),
                                "this MCP client cannot ask"));
  Ask("initialize", {{"protocolVersion", "2025-11-25"},
                     {"capabilities", {{"elicitation", {{"form", nullptr}}}}}});
  const auto ask = [this](const char* action) {
    // The next line of the server is its question.
    const OrderedJson question =
        Ask("tools/call",
            {{"name", "run"}, {"arguments", {{"command", "echo x"}}}});
    EXPECT_EQ(question["method"], "elicitation/create");
    mcp_->Write(bridge::SerializeOrdered({{"jsonrpc", "2.0"},
                                          {"id", question["id"]},
                                          {"result", {{"action", action}}}}) +
                "\n");
    const auto answer = bridge::ParseOrderedJson(mcp_->ReadLine());
    return (*answer)["result"]["content"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(ask("decline"), "Error: not run: the user does not allow it");
  EXPECT_TRUE(absl::StrContains(ask("accept"), R"("output": "x\n")"));
  EXPECT_EQ(Call("run", {{"command", "true; ls"}}),
            "Error: not run: a rule of the user forbids it");
  EXPECT_EQ(Call("type", {{"text", "x"}}),
            "Error: not run: a rule of the user forbids it");
  EXPECT_TRUE(
      absl::StrContains(Call("run", {{"command", "true"}}), "\"exitCode\": 0"));
  const std::string log = ReadFile(audit);
  EXPECT_TRUE(absl::StrContains(log, R"("by":"no way to ask")")) << log;
  EXPECT_TRUE(absl::StrContains(log, R"("allowed":true,"by":"user")")) << log;
  EXPECT_TRUE(absl::StrContains(log, R"("exit":{"code":0)")) << log;
}

TEST_F(McpTest, RecordsFromTheScreenThatItFinds) {
  Type("printf '\\033[?1h\\033[2J\\033[3;5Hbe''fore'");
  AwaitContent("before");
  const auto recording = bridge::ParseOrderedJson(
      Call("startRecording",
           {{"startWithScreen", true}, {"outputDir", ::testing::TempDir()}}));
  Call("run", {{"command", "echo af''ter"}});
  Call("stopRecording", {{"recordingId", (*recording)["recordingId"]}});
  std::istringstream lines(ReadFile((*recording)["path"].get<std::string>()));
  std::string header;
  std::string first;
  std::getline(lines, header);
  std::getline(lines, first);
  EXPECT_TRUE(absl::StrContains(header, R"("width":80,"height":10)")) << header;
  const auto event = bridge::ParseOrderedJson(first);
  EXPECT_EQ((*event)[0], 0);
  const auto screen = (*event)[2].get<std::string>();
  EXPECT_TRUE(absl::StrContains(screen, "\x1b[H\x1b[2J")) << screen;
  EXPECT_TRUE(absl::StrContains(screen, "before")) << screen;
  EXPECT_TRUE(absl::StrContains(screen, "\x1b[?1h")) << screen;
}

TEST_F(McpTest, RunsCommandsAndReportsTheirExitCodes) {
  const auto failed = bridge::ParseOrderedJson(
      Call("run", {{"command", "printf 'a\\nb\\n'; (exit 3)"}}));
  EXPECT_EQ((*failed)["output"], "a\nb\n");
  EXPECT_EQ((*failed)["exitCode"], 3);
  EXPECT_EQ((*failed)["running"], false);
  const auto next =
      bridge::ParseOrderedJson(Call("run", {{"command", "true"}}));
  EXPECT_EQ((*next)["output"], "");
  EXPECT_EQ((*next)["exitCode"], 0);
}

TEST_F(McpTest, GoesOnWaitingForACommandWhoseTimeWasOver) {
  const auto begun = bridge::ParseOrderedJson(Call(
      "run",
      {{"command", "echo rea''dy; read x; echo got $x"}, {"timeoutMs", 0}}));
  EXPECT_EQ((*begun)["running"], true);
  EXPECT_TRUE((*begun)["exitCode"].is_null());
  // Before the command begins, the shell would read the line.
  AwaitContent("ready");
  Type("input");
  const auto waited = bridge::ParseOrderedJson(
      Call("wait", {{"regex", "got (in)put"}, {"timeoutMs", 60'000}}));
  EXPECT_EQ((*waited)["reason"], "regex");
}

TEST_F(McpTest, WaitsForTextSilenceAndTheEndOfTheShell) {
  Type("echo rea''dy");
  EXPECT_TRUE(absl::StrContains(
      Call("wait", {{"text", "ready"}, {"timeoutMs", 60'000}}),
      "\"reason\": \"text\""));
  EXPECT_TRUE(absl::StrContains(
      Call("wait", {{"silenceMs", 10}, {"timeoutMs", 60'000}}),
      "\"reason\": \"silence\""));
  EXPECT_TRUE(
      absl::StrContains(Call("wait", {{"text", "never"}, {"timeoutMs", 1}}),
                        "\"reason\": \"timeout\""));
  Type("exit 4");
  EXPECT_TRUE(absl::StrContains(
      Call("wait", {{"text", "never"}, {"timeoutMs", 60'000}}),
      "\"exitCode\": 4"));
}

TEST_F(McpTest, TakesPicturesOfTheTerminal) {
  const OrderedJson answer =
      Ask("tools/call",
          {{"name", "takeScreenshot"}, {"arguments", {{"format", "png"}}}});
  const OrderedJson& image = answer["result"]["content"][0];
  EXPECT_EQ(image["mimeType"], "image/png");
  // The signature of a PNG, in base64.
  EXPECT_TRUE(absl::StartsWith(image["data"].get<std::string>(), "iVBORw0K"));
  EXPECT_EQ(answer["result"]["structuredContent"]["dimensions"]["rows"], 10);
}

}  // namespace
}  // namespace tests

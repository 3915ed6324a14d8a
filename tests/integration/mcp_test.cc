// The terminals of corral-mcp with the real server.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bridge/cli/commands/corral_process.h"
#include "bridge/jsonrpc/json.h"
#include "gtest/gtest.h"
#include "tests/integration/mcp_fixture.h"
#include "tests/process.h"

namespace tests {
namespace {

using bridge::OrderedJson;

TEST_F(McpTest, MakesNothingBeforeTheFirstToolCall) {
  Ask("initialize", {{"protocolVersion", "2025-11-25"}});
  Ask("tools/list", OrderedJson::object());
  EXPECT_EQ(SandboxCount(), 0);
  Call("getContent", OrderedJson::object());
  EXPECT_EQ(SandboxCount(), 1);
}

TEST_F(McpTest, RunsAShellInTheWorkspace) {
  Type("echo fr''om $(pwd)");
  AwaitContent("from " + server_.workspace());
  const auto screenshot =
      bridge::ParseOrderedJson(Call("takeScreenshot", OrderedJson::object()));
  EXPECT_EQ((*screenshot)["dimensions"]["cols"], 80);
}

TEST_F(McpTest, AnswersWhatProgramsAskTheirTerminal) {
  Type(R"(printf '\033[6n'; IFS= read -rsd R p; echo "an""swer ${p#*[}")");
  EXPECT_TRUE(absl::StrContains(AwaitContent("answer "), ";1"));
}

TEST_F(McpTest, IsTheOnlyOneWhoAnswersWhenAPersonIsAttached) {
  Call("run", {{"command", "true"}});
  // Sandboxes first, then executions.
  const std::vector<std::string> names = absl::StrSplit(
      RunProgram({"./corral", "--server", server_.address(), "ps", "-q"}), '\n',
      absl::SkipEmpty());
  const std::string& shell = names.back();
  bridge::CorralProcess person(server_.address(), {"attach", shell},
                               bridge::CorralProcess::Io::kTerminal);
  // The person's terminal answers what `attach` itself asks, and nothing else
  // may be asked of it.
  person.ReadUntil("\x1b[5n");
  person.Write("\x1b[0n");
  Type(R"(stty -echo; printf 'q\033[6nuestion\033[c\n'; IFS= read -rsd c a; )"
       R"(read -rsn 99 -t 1 b; stty echo; printf '%s' "$a|$b" | od -c)");
  const std::string seen = person.ReadUntil("0000000");
  EXPECT_TRUE(absl::StrContains(seen, "question\r\n")) << seen;
  const std::string content = AwaitContent("0000000");
  // Both answers came, each once.
  const size_t first = content.find(" R 033   [   ?");
  EXPECT_NE(first, content.npos) << content;
  EXPECT_EQ(content.find(" R ", first + 3), content.npos) << content;
}

TEST_F(McpTest, StaysClearedWhenTheServerIsKilled) {
  Type("echo ol''d");
  AwaitContent("\nold");
  EXPECT_EQ(Call("clear", OrderedJson::object()), "Terminal cleared");
  server_.Kill();
  server_.Start();
  EXPECT_FALSE(
      absl::StrContains(Call("getContent", OrderedJson::object()), "old"));
}

TEST_F(McpTest, StartsAShellAgainThatHasExited) {
  Type("echo fir''st");
  AwaitContent("first");
  Type("exit 3");
  std::string content = "first";
  while (absl::StrContains(content, "first")) {
    content = Call("getContent", OrderedJson::object());
  }
  Type("echo sec''ond");
  AwaitContent("second");
}

TEST_F(McpTest, WorksOnWhenTheServerIsKilled) {
  Type("echo bef''ore");
  AwaitContent("before");
  server_.Kill();
  server_.Start();
  Type("echo aft''er");
  EXPECT_TRUE(absl::StrContains(AwaitContent("after"), "before"));
}

TEST_F(McpTest, AnswersOtherCallsWhileOneWaits) {
  Type("echo star''ted");
  const OrderedJson wait = {
      {"jsonrpc", "2.0"},
      {"id", "wait"},
      {"method", "tools/call"},
      {"params",
       {{"name", "wait"},
        {"arguments", {{"text", "end"}, {"timeoutMs", 600'000}}}}}};
  mcp_->Write(bridge::SerializeOrdered(wait) + "\n");
  AwaitContent("started");
  mcp_->Write(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
              R"("params":{"requestId":"wait"}})"
              "\n");
  Type("echo e''nd");
  AwaitContent("\nend");
}

TEST_F(McpTest, ResizesAndSignalsTheTerminal) {
  Call("resize", {{"cols", 60}, {"rows", 7}});
  const auto size =
      bridge::ParseOrderedJson(Call("run", {{"command", "stty size"}}));
  EXPECT_EQ((*size)["output"], "7 60\n");
  Call("run", {{"command", "sleep 1000"}, {"timeoutMs", 0}});
  std::string ended;
  while (!absl::StrContains(ended, "\"exitCode\": 143") && !HasFailure()) {
    Call("signal", {{"signal", "TERM"}});
    ended = Call("wait", {{"silenceMs", 50}, {"timeoutMs", 60'000}});
  }
}

TEST_F(McpTest, FindsItsShellsAgainByTheNameOfTheSandbox) {
  EndMcp();
  StartMcp({"--name", "kept"});
  Call("run", {{"command", "x=17"}});
  const auto made = bridge::ParseOrderedJson(Call("createSession", {}));
  const OrderedJson id = (*made)["sessionId"];
  Call("run", {{"command", "x=18"}, {"sessionId", id}});
  // Its answer must not be typed a second time.
  Call("run", {{"command", R"(printf '\033[6n'; read -rsd R p)"}});
  EndMcp();
  EXPECT_EQ(SandboxCount(), 1);
  StartMcp({"--name", "kept"});
  const auto first =
      bridge::ParseOrderedJson(Call("run", {{"command", "echo x is $x"}}));
  EXPECT_EQ((*first)["output"], "x is 17\n");
  const auto second = bridge::ParseOrderedJson(
      Call("run", {{"command", "echo x is $x"}, {"sessionId", id}}));
  EXPECT_EQ((*second)["output"], "x is 18\n");
  EndMcp();
  DeleteSandbox("kept");
  StartMcp({});
}

TEST_F(McpTest, UsesASandboxThatExistsAndLeavesIt) {
  EndMcp();
  const std::string sandbox = CreateSandbox();
  StartMcp({"--sandbox", sandbox});
  Call("run", {{"command", "true"}});
  EXPECT_EQ(SandboxCount(), 1);
  EndMcp();
  EXPECT_EQ(SandboxCount(), 1);
  DeleteSandbox(sandbox.substr(sandbox.rfind('/') + 1));
  StartMcp({});
}

TEST_F(McpTest, KeepsSessionsApart) {
  const auto session = bridge::ParseOrderedJson(
      Call("createSession", {{"cols", 40}, {"rows", 5}}));
  const OrderedJson id = (*session)["sessionId"];
  Call("type", {{"text", "echo ot''her\r"}, {"sessionId", id}});
  std::string content;
  while (!absl::StrContains(content, "other")) {
    content = Call("getContent", {{"sessionId", id}});
  }
  EXPECT_FALSE(
      absl::StrContains(Call("getContent", OrderedJson::object()), "other"));
  EXPECT_EQ(Call("destroySession", {{"sessionId", id}}),
            absl::StrCat("Session '", id.get<std::string>(), "' destroyed"));
  EXPECT_EQ(
      Call("getContent", {{"sessionId", id}}),
      absl::StrCat("Error: Session '", id.get<std::string>(), "' not found"));
}

}  // namespace
}  // namespace tests

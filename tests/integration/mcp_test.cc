// corral-mcp between a client on its pipes and the real server.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"

namespace tests {
namespace {

using bridge::OrderedJson;

class McpTest : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    StartMcp({});
  }
  void TearDown() override {
    mcp_->CloseInput();
    EXPECT_EQ(mcp_->Wait(), 0) << mcp_->ReadError();
    EXPECT_EQ(SandboxCount(), 0);
    IntegrationTest::TearDown();
  }

  void StartMcp(const std::vector<std::string>& options) {
    std::vector<std::string> words = {"./corral-mcp",
                                      "--server",
                                      server_.address(),
                                      "--workspace",
                                      server_.workspace(),
                                      "--shell",
                                      "/bin/bash",
                                      "--cols",
                                      "80",
                                      "--rows",
                                      "10"};
    words.insert(words.end(), options.begin(), options.end());
    mcp_ = std::make_unique<Process>(
        words, std::vector<std::string>{"HOME=/nonexistent"});
  }
  void EndMcp() {
    mcp_->CloseInput();
    EXPECT_EQ(mcp_->Wait(), 0) << mcp_->ReadError();
  }
  void DeleteSandbox(const std::string& id) {
    corral::v1::DeleteSandboxRequest request;
    request.set_name(absl::StrCat(kTenant, "/sandboxes/", id));
    google::protobuf::Empty empty;
    EXPECT_TRUE(
        client_->Call(&Client::SandboxStub::DeleteSandbox, request, &empty)
            .ok());
  }

  OrderedJson Ask(const std::string& method, const OrderedJson& params) {
    const OrderedJson request = {{"jsonrpc", "2.0"},
                                 {"id", ++id_},
                                 {"method", method},
                                 {"params", params}};
    mcp_->Write(bridge::SerializeOrdered(request) + "\n");
    const auto answer = bridge::ParseOrderedJson(mcp_->ReadLine());
    EXPECT_TRUE(answer.has_value()) << mcp_->ReadError();
    return answer.value_or(OrderedJson());
  }
  // The text that a tool answers.
  std::string Call(const std::string& tool, const OrderedJson& arguments) {
    const OrderedJson answer =
        Ask("tools/call", {{"name", tool}, {"arguments", arguments}});
    return answer["result"]["content"][0]["text"].get<std::string>();
  }
  // Reads the terminal until it holds `text`.
  std::string AwaitContent(const std::string& text) {
    std::string content;
    while (!absl::StrContains(content, text) && !HasFailure()) {
      content = Call("getContent", OrderedJson::object());
    }
    return content;
  }
  void Type(const std::string& line) {
    EXPECT_TRUE(
        absl::StartsWith(Call("type", {{"text", line + "\r"}}), "Typed "));
  }
  int SandboxCount() {
    corral::v1::ListSandboxesRequest request;
    request.set_parent(kTenant);
    corral::v1::ListSandboxesResponse response;
    EXPECT_TRUE(
        client_->Call(&Client::SandboxStub::ListSandboxes, request, &response)
            .ok());
    return response.sandboxes_size();
  }

  std::unique_ptr<Process> mcp_;
  int id_ = 0;
};

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

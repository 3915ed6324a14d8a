// Tests in which sandboxes the bridge runs commands: of sessions, of rules,
// with additional directories, and shared with corral-mcp. Against a fake
// server.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kFirst[] = "tenants/default/sandboxes/s1";

BridgeOptions WithMcp() {
  BridgeOptions options;
  options.mcp_server = {"/bin/corral-mcp", "--server", "unix:/s"};
  options.preparation = Preparation::kWithSession;
  return options;
}

class BridgeSandboxTest : public BridgeTest {
 protected:
  void Remake(BridgeOptions options) {
    Finish();
    client_.clear();
    agent_.clear();
    Make(std::move(options));
  }

  // Sends a request of the client and returns it as the agent gets it.
  Json ToAgent(const std::string& line) {
    bridge_->OnClientLine(line + "\n");
    const Json message = ParseJson(agent_.back()).value_or(nullptr);
    agent_.pop_back();
    return message;
  }

  void RunUntilIdle() {
    RunUntil([this] { return bridge_->idle(); });
  }
};

// The id of the sandbox that the session's corral-mcp uses.
std::string SandboxOf(const Json& opening) {
  const Json server = opening["params"]["mcpServers"].back();
  EXPECT_EQ(server["name"], "corral");
  EXPECT_EQ(server["command"], "/bin/corral-mcp");
  EXPECT_EQ(server["env"], Json::array());
  const std::vector<std::string> words = server["args"];
  EXPECT_THAT(words, SizeIs(4));
  EXPECT_EQ(words[2], "--sandbox");
  return words[3];
}

TEST_F(BridgeSandboxTest, RunsTheCommandsOfARuleInASandboxOfTheirOwn) {
  Remake(WithRules(
      R"(rule { decision: ALLOW program: "hello" memory: "64M" }
         rule { decision: ALLOW program: "fail" timeout: "5s" })"));
  Terminal("fail");
  Terminal("hello");
  Terminal("hello");
  EXPECT_EQ(server_.runs()[0].parent(), "tenants/default/sandboxes/s1");
  EXPECT_EQ(server_.runs()[1].parent(), "tenants/default/sandboxes/s2");
  EXPECT_EQ(server_.runs()[2].parent(), "tenants/default/sandboxes/s2");
  ASSERT_THAT(server_.creations(), SizeIs(2));
  EXPECT_EQ(server_.creations()[1].sandbox().limits().memory_bytes(), 64 << 20);
  EXPECT_EQ(server_.creations()[1].sandbox().workspace().path(), "/w");
  CloseSession("s");
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(),
              UnorderedElementsAre("tenants/default/sandboxes/s1",
                                   "tenants/default/sandboxes/s2"));
}

TEST_F(BridgeSandboxTest, LendsTheAdditionalDirectoriesOfASession) {
  ToAgent(R"({"id":3,"method":"session/new","params":{"cwd":"/a",)"
          R"("additionalDirectories":["/b"]}})");
  bridge_->OnAgentLine("{\"id\":3,\"result\":{\"sessionId\":\"t\"}}\n");
  Request("1", "terminal/create",
          R"({"sessionId":"t","command":"hello","cwd":"/b/sub"})");
  EXPECT_TRUE(Answer().contains("result"));
  const corral::v1::Sandbox sandbox = server_.creations().back().sandbox();
  EXPECT_EQ(sandbox.workspace().path(), "/a");
  ASSERT_EQ(sandbox.further_workspaces_size(), 1);
  EXPECT_EQ(sandbox.further_workspaces(0).path(), "/b");
  EXPECT_EQ(server_.runs().back().command().working_directory(), "/b/sub");
}

TEST_F(BridgeSandboxTest, GoesOnWithoutADirectoryThatTheServerRefuses) {
  BridgeOptions options;
  options.preparation = Preparation::kWithSession;
  Remake(std::move(options));
  ToAgent(R"({"id":3,"method":"session/new","params":{"cwd":"/a",)"
          R"("additionalDirectories":["/proc/1","/b","/sys"]}})");
  bridge_->OnAgentLine("{\"id\":3,\"result\":{\"sessionId\":\"t\"}}\n");
  RunUntilIdle();
  EXPECT_THAT(client_,
              ElementsAre(HasSubstr("\"id\":3"),
                          AllOf(HasSubstr("do not see"), HasSubstr("/proc/1"),
                                HasSubstr("--map")),
                          AllOf(HasSubstr("do not see"), HasSubstr("/sys"))));
  const corral::v1::Sandbox sandbox = server_.creations().back().sandbox();
  ASSERT_EQ(sandbox.further_workspaces_size(), 1);
  EXPECT_EQ(sandbox.further_workspaces(0).path(), "/b");
}

TEST_F(BridgeSandboxTest, OffersCorralMcpWithTheSandboxOfEachSession) {
  Remake(WithMcp());
  const std::string first = SandboxOf(ToAgent(
      R"({"id":3,"method":"session/new","params":{"cwd":"/a","mcpServers":[]}})"));
  const std::string second = SandboxOf(ToAgent(
      R"({"id":4,"method":"session/load","params":{"cwd":"/b","sessionId":"u",)"
      R"("mcpServers":[{"name":"other"}]}})"));
  EXPECT_NE(first, second);
  bridge_->OnAgentLine("{\"id\":3,\"result\":{\"sessionId\":\"t\"}}\n");
  bridge_->OnAgentLine("{\"id\":4,\"result\":{}}\n");
  RunUntilIdle();
  ASSERT_THAT(server_.creations(), SizeIs(3));
  // Both are created at the same time.
  EXPECT_THAT((std::vector<std::string>{server_.creations()[1].sandbox_id(),
                                        server_.creations()[2].sandbox_id()}),
              UnorderedElementsAre(first, second));
  // The commands of terminals run beside the shells of corral-mcp.
  Request("1", "terminal/create", R"({"sessionId":"t","command":"hello"})");
  Answer();
  EXPECT_EQ(server_.runs().back().parent(),
            "tenants/default/sandboxes/" + first);
  CloseSession("t");
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/" + first));
}

TEST_F(BridgeSandboxTest, OffersCorralMcpForResumedAndForkedSessions) {
  Remake(WithMcp());
  SandboxOf(ToAgent(
      R"({"id":3,"method":"session/resume","params":{"cwd":"/a","sessionId":"t"}})"));
  SandboxOf(ToAgent(
      R"({"id":4,"method":"session/fork","params":{"cwd":"/a","sessionId":"t"}})"));
}

TEST_F(BridgeSandboxTest, AddsNoServerUnlessAsked) {
  EXPECT_EQ(
      ToAgent(R"({"id":3,"method":"session/new","params":{"mcpServers":[]}})")
          ["params"]["mcpServers"],
      Json::array());
}

TEST_F(BridgeSandboxTest, MakesAndOffersNothingToAnAgentOfALaterVersion) {
  Remake(WithMcp());
  RunUntilIdle();
  ToAgent(R"({"id":"i","method":"initialize","params":{}})");
  bridge_->OnAgentLine(R"({"id":"i","result":{"protocolVersion":2}})");
  const Json opening = ToAgent(
      R"({"id":3,"method":"session/new","params":{"cwd":"/a","mcpServers":[]}})");
  EXPECT_EQ(opening["params"]["mcpServers"], Json::array());
  bridge_->OnAgentLine("{\"id\":3,\"result\":{\"sessionId\":\"t\"}}\n");
  RunUntilIdle();
  EXPECT_THAT(server_.creations(), SizeIs(1));  // of the fixture's session
}

TEST_F(BridgeSandboxTest, ClosesASessionThatIsLoadedWithAnotherDirectory) {
  const std::string terminal = Terminal("hang");
  ToAgent(R"({"id":5,"method":"session/load","params":)"
          R"({"sessionId":"s","cwd":"/other"}})");
  EXPECT_EQ(Ask("output", terminal)["error"]["code"], -32002);
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(), ElementsAre(kFirst));
  Terminal("hello");
  EXPECT_EQ(server_.creations().back().sandbox().workspace().path(), "/other");
}

TEST_F(BridgeSandboxTest, ClosesASessionThatCouldNotBeLoaded) {
  ToAgent(R"({"id":5,"method":"session/load","params":)"
          R"({"sessionId":"t","cwd":"/t"}})");
  const char* const creation = R"({"sessionId":"t","command":"hang"})";
  Request("1", "terminal/create", creation);
  EXPECT_TRUE(Answer().contains("result"));
  bridge_->OnAgentLine("{\"id\":5,\"error\":{\"code\":-32603}}\n");
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(), ElementsAre(kFirst));
  Request("1", "terminal/create", creation);
  EXPECT_EQ(Answer()["error"]["code"], -32002);
}

TEST_F(BridgeSandboxTest, DeletesTheSandboxesWhenTheAgentHasEnded) {
  Terminal("hello");
  bridge_->OnAgentEnd();
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(), ElementsAre(kFirst));
}

TEST_F(BridgeSandboxTest, DeletesTheAgentsOwnSandboxOnlyWhenTheAgentHasEnded) {
  BridgeOptions options;
  options.workplace.workspace = "/w";
  options.workplace.agent_sandbox = "tenants/default/sandboxes/agents";
  Remake(std::move(options));
  bridge_->Close();
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(), IsEmpty());
  bridge_->OnAgentEnd();
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/agents"));
}

TEST_F(BridgeSandboxTest, PassesOnAPromptInASessionThatIsNotOpen) {
  Remake(WithMcp());
  const std::string prompt =
      R"({"id":5,"method":"session/prompt","params":{"sessionId":"none"}})"
      "\n";
  bridge_->OnClientLine(prompt);
  EXPECT_THAT(agent_, ElementsAre(prompt));
}

TEST_F(BridgeSandboxTest, MakesALostSandboxAgainWhenATurnBegins) {
  Remake(WithMcp());
  const std::string id = SandboxOf(ToAgent(
      R"({"id":3,"method":"session/new","params":{"cwd":"/a","mcpServers":[]}})"));
  bridge_->OnAgentLine("{\"id\":3,\"result\":{\"sessionId\":\"t\"}}\n");
  RunUntilIdle();
  const char* const prompt =
      R"({"id":5,"method":"session/prompt","params":{"sessionId":"t"}})";
  ToAgent(prompt);
  RunUntilIdle();
  EXPECT_THAT(server_.creations(), SizeIs(2));
  server_.LoseSandbox("tenants/default/sandboxes/" + id);
  ToAgent(prompt);
  RunUntilIdle();
  ASSERT_THAT(server_.creations(), SizeIs(3));
  EXPECT_EQ(server_.creations().back().sandbox_id(), id);
}

}  // namespace
}  // namespace bridge

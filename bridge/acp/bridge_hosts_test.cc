// The bridge asks the user about hosts: tests against a fake server.

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSandbox[] = "tenants/default/sandboxes/s1";
constexpr char kAgents[] = "tenants/default/sandboxes/agents";
constexpr char kPrompt[] =
    R"({"id":"p","method":"session/prompt","params":{"sessionId":"s"}})";

class BridgeHostsTest : public BridgeTest {
 protected:
  // `agent_sandbox`: empty if the agent is outside.
  void AskHosts(const std::string& agent_sandbox = "") {
    Finish();
    BridgeOptions options;
    options.ask_hosts = true;
    options.workplace.workspace = "/w";
    options.workplace.agent_sandbox = agent_sandbox;
    Make(std::move(options));
    client_.clear();
    if (agent_sandbox.empty()) {
      Ask("wait_for_exit", Terminal("hello"));
    }
  }

  // Waits for the next line for the client.
  Json Line() {
    RunUntil([this] { return !client_.empty(); });
    const std::string line = client_.front();
    client_.pop_front();
    return ParseJson(line).value_or(Json());
  }

  void RunFor(absl::Duration duration) {
    bool later = false;
    loop_.After(duration, [&later] { later = true; });
    RunUntil([&later] { return later; });
  }

  // Runs until the answers to two further lists must have been read.
  void RunForTwoLists() {
    const int before = server_.network_lists();
    RunUntil([&] { return server_.network_lists() >= before + 3; });
  }
};

TEST_F(BridgeHostsTest, AsksTheUserAndAllowsTheHost) {
  AskHosts();
  server_.RefuseHost(kSandbox, "a.example");
  const Json question = Line();
  EXPECT_EQ(question["method"], "session/request_permission");
  EXPECT_EQ(question["params"]["sessionId"], "s");
  EXPECT_EQ(question["params"]["toolCall"]["title"],
            "Reach the host a.example");
  bridge_->OnClientLine(absl::StrCat(
      Serialize(
          {{"id", question["id"]},
           {"result",
            {{"outcome",
              {{"outcome", "selected"}, {"optionId", "allow_always"}}}}}}),
      "\n"));
  EXPECT_EQ(Line()["params"]["update"]["status"], "completed");
  ASSERT_THAT(server_.allowances(), SizeIs(1));
  EXPECT_EQ(server_.allowances()[0].ShortDebugString(),
            absl::StrCat("name: \"", kSandbox,
                         "\" egress_rules { host: \"a.example\" }"));
  // The agent gets nothing of it.
  EXPECT_THAT(agent_, IsEmpty());
}

TEST_F(BridgeHostsTest, AsksNothingWithoutTheOption) {
  Ask("wait_for_exit", Terminal("hello"));
  Finish();
  EXPECT_EQ(server_.network_lists(), 0);
  Make({});
}

TEST_F(BridgeHostsTest, AsksTheServerNothingBeforeThereIsASandbox) {
  Finish();
  BridgeOptions options;
  options.ask_hosts = true;
  Make(std::move(options));
  Finish();
  EXPECT_EQ(server_.network_lists(), 0);
  Make({});
}

TEST_F(BridgeHostsTest, AsksForTheAgentsSandboxInTheSessionOfTheTurn) {
  AskHosts(kAgents);
  bridge_->OnClientLine(kPrompt);
  agent_.clear();
  server_.RefuseHost(kAgents, "a.example");
  const Json question = Line();
  EXPECT_EQ(question["method"], "session/request_permission");
  EXPECT_EQ(question["params"]["sessionId"], "s");
}

TEST_F(BridgeHostsTest, AsksNothingInASessionThatIsNotOpen) {
  AskHosts(kAgents);
  bridge_->OnClientLine(
      R"({"id":"p","method":"session/prompt","params":{"sessionId":"u"}})");
  server_.RefuseHost(kAgents, "a.example");
  RunForTwoLists();
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeHostsTest, AsksNothingInAnotherVersionOfTheProtocol) {
  AskHosts(kAgents);
  bridge_->OnClientLine(
      R"({"id":"i","method":"initialize","params":{"protocolVersion":2}})");
  bridge_->OnAgentLine(R"({"id":"i","result":{"protocolVersion":2}})");
  bridge_->OnClientLine(kPrompt);
  client_.clear();
  server_.RefuseHost(kAgents, "a.example");
  RunForTwoLists();
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeHostsTest, DropsTheQuestionWhenTheUserCancelsTheTurn) {
  AskHosts();
  server_.RefuseHost(kSandbox, "a.example");
  const Json question = Line();
  bridge_->OnClientLine(
      R"({"method":"session/cancel","params":{"sessionId":"s"}})");
  const Json cancellation = Line();
  EXPECT_EQ(cancellation["method"], "$/cancel_request");
  EXPECT_EQ(cancellation["params"]["requestId"], question["id"]);
  EXPECT_EQ(Line()["params"]["update"]["status"], "failed");
}

TEST_F(BridgeHostsTest, DropsTheQuestionWhenTheSessionIsClosed) {
  AskHosts();
  server_.RefuseHost(kSandbox, "a.example");
  Line();
  bridge_->OnClientLine(
      R"({"id":"c","method":"session/close","params":{"sessionId":"s"}})");
  bridge_->OnAgentLine(R"({"id":"c","result":{}})");
  EXPECT_EQ(Line()["method"], "$/cancel_request");
}

TEST_F(BridgeHostsTest, AsksTheServerNoMoreAfterTheEnd) {
  AskHosts(kAgents);
  RunForTwoLists();
  bridge_->Close();
  RunUntil([this] { return bridge_->idle(); });
  const int lists = server_.network_lists();
  // Above the interval between two lists.
  RunFor(absl::Milliseconds(700));
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_EQ(server_.network_lists(), lists);
}

}  // namespace
}  // namespace bridge

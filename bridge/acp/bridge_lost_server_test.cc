// The bridge and a server that cannot be reached, or does not answer.

#include <string>

#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(BridgeTest, ReportsThatThereIsNoServer) {
  server_.Stop();
  const Json answer = Create("hello");
  EXPECT_EQ(answer["error"]["code"], -32603);
  EXPECT_EQ(answer["error"]["data"]["reason"], "UNAVAILABLE");
  EXPECT_THAT(answer["error"]["data"]["details"],
              AllOf(HasSubstr(server_.address()),
                    HasSubstr("check that corrald runs there")));
  server_.Start();
  EXPECT_NE(Terminal("hello"), "");
}

TEST_F(BridgeTest, NamesTheServerThatDoesNotAnswer) {
  MakeImpatient();
  Terminal("hello");
  server_.Stop();
  const Json data = Create("hello")["error"]["data"];
  EXPECT_EQ(data["reason"], "UNAVAILABLE");
  EXPECT_THAT(data["details"],
              AllOf(HasSubstr(server_.address()), HasSubstr("RunExecution"),
                    HasSubstr("--server")));
  // The sandbox can be deleted at once.
  server_.Start();
}

TEST_F(BridgeTest, RecoversATerminalWhenTheServerComesBackLate) {
  MakeImpatient();
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  server_.Stop();
  Request("8", "terminal/wait_for_exit", Reference(terminal));
  // The wait does not hang, but nothing is said about the command.
  EXPECT_THAT(Answer()["error"]["data"]["details"], HasSubstr("has been gone"));
  EXPECT_EQ(Ask("output", terminal)["result"],
            (Json{{"output", "started\n"}, {"truncated", false}}));
  const auto command =
      server_.FindExecution("tenants/default/sandboxes/s1/executions/t1");
  command->Print("more\n");
  server_.Start();
  AskUntil(terminal, "started\nmore\n");
  EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"]["signal"], "SIGTERM");
}

TEST_F(BridgeTest, ReportsAKillThatTheServerDidNotAnswer) {
  MakeImpatient();
  const std::string terminal = Terminal("hang");
  server_.FailSignals(grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(Ask("kill", terminal)["error"]["data"]["details"],
              HasSubstr(server_.address()));
}

TEST_F(BridgeTest, DeletesAReleasedExecutionThatCouldNotBeKilled) {
  MakeImpatient();
  const std::string terminal = Terminal("hang");
  server_.FailSignals(grpc::StatusCode::DEADLINE_EXCEEDED);
  Request("7", "terminal/wait_for_exit", Reference(terminal));
  Ask("release", terminal);
  RunUntil([this] { return bridge_->idle(); });
  ASSERT_THAT(server_.deletions(),
              Contains("tenants/default/sandboxes/s1/executions/t1"));
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 7);
  EXPECT_EQ(answer["result"]["signal"], "SIGKILL");
}

TEST_F(BridgeTest, EndsAReleasedTerminalWhoseServerDoesNotComeBack) {
  MakeImpatient();
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  server_.Stop();
  Request("7", "terminal/wait_for_exit", Reference(terminal));
  Ask("release", terminal);
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 7);
  EXPECT_THAT(answer["error"]["data"]["details"], HasSubstr("has been gone"));
  // Nobody follows the output any more.
  EXPECT_FALSE(bridge_->IsAwaitingEnds());
  server_.Start();
}

TEST_F(BridgeTest, DeletesACommandWhoseStartWasNotAnswered) {
  MakeImpatient();
  Terminal("hello");
  server_.FailStartedCommands(grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Create("hang")["error"]["data"]["reason"], "UNAVAILABLE");
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/t2"));
}

}  // namespace
}  // namespace bridge

// The terminals of an agent, against a fake server.

#include <errno.h>
#include <signal.h>

#include <map>
#include <string>

#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(BridgeTest, RunsACommandFromCreateToRelease) {
  const std::string terminal = Terminal("hello");
  EXPECT_NE(terminal, "");
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"],
            (Json{{"exitCode", 0}, {"signal", nullptr}}));
  EXPECT_EQ(Ask("output", terminal)["result"],
            (Json{{"output", "hello\n"},
                  {"truncated", false},
                  {"exitStatus", {{"exitCode", 0}, {"signal", nullptr}}}}));
  EXPECT_EQ(Ask("release", terminal)["result"], Json::object());
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeTest, PassesArgumentsAndEnvironmentToTheServer) {
  Terminal("hello", R"(,"args":["a","b c"],"env":[{"name":"N","value":"V"}],)"
                    R"("outputByteLimit":10)");
  const corral::v1::Command command = server_.runs().front().command();
  EXPECT_THAT(command.argv(), ElementsAre("hello", "a", "b c"));
  EXPECT_EQ(command.environment(0).name(), "N");
  EXPECT_EQ(command.environment(0).value(), "V");
  EXPECT_EQ(command.working_directory(), "/w");
  EXPECT_TRUE(command.merge_stderr());
  EXPECT_FALSE(command.has_wall_timeout());
  EXPECT_EQ(command.output().overflow(), corral::v1::OutputPolicy::DROP_OLDEST);
  EXPECT_EQ(command.output().retain_bytes(), (1u << 20) + 40);
}

TEST_F(BridgeTest, GivesAShellLineToAShell) {
  Terminal("echo hi | cat", R"(,"args":[])");
  EXPECT_THAT(server_.runs().front().command().argv(),
              ElementsAre("/bin/sh", "-c", "echo hi | cat"));
}

TEST_F(BridgeTest, ReportsWhyACommandDidNotStart) {
  corral::v1::StartFailure failure;
  failure.set_stage(corral::v1::StartFailure::EXEC);
  failure.set_errno_value(ENOENT);
  failure.set_message("No such file or directory");
  server_.FailStarts(failure);
  const Json answer = Create("nosuch");
  EXPECT_EQ(answer["error"]["code"], -32603);
  EXPECT_EQ(answer["error"]["data"]["details"],
            "spawn nosuch ENOENT: No such file or directory");
}

TEST_F(BridgeTest, KeepsTheTerminalAfterAKill) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  EXPECT_TRUE(bridge_->IsAwaitingEnds());
  EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"],
            (Json{{"exitCode", nullptr}, {"signal", "SIGTERM"}}));
  EXPECT_FALSE(bridge_->IsAwaitingEnds());
  const Json output = Ask("output", terminal);
  EXPECT_EQ(output["result"]["output"], "started\n");
  EXPECT_EQ(output["result"]["exitStatus"]["signal"], "SIGTERM");
  EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
  ASSERT_THAT(server_.signals(), SizeIs(1));
  const corral::v1::SignalExecutionRequest signal = server_.signals().front();
  EXPECT_EQ(signal.signal(), SIGTERM);
  EXPECT_EQ(signal.scope(), corral::v1::SignalExecutionRequest::TREE);
  EXPECT_EQ(signal.kill_after().seconds(), 2);
}

TEST_F(BridgeTest, AnswersEveryWaitOfAReleasedTerminal) {
  const std::string terminal = Terminal("hang");
  Request("\"a\"", "terminal/wait_for_exit", Reference(terminal));
  Request("7", "terminal/wait_for_exit", Reference(terminal));
  EXPECT_EQ(Ask("release", terminal)["result"], Json::object());
  const Json killed = {{"exitCode", nullptr}, {"signal", "SIGKILL"}};
  Json answer = Answer();
  EXPECT_EQ(answer["id"], "a");
  EXPECT_EQ(answer["result"], killed);
  answer = Answer();
  EXPECT_EQ(answer["id"], 7);
  EXPECT_EQ(answer["result"], killed);
  EXPECT_EQ(server_.signals().front().ShortDebugString(),
            "name: \"tenants/default/sandboxes/s1/executions/t1\" signal: 9 "
            "scope: TREE");
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/t1"));
}

TEST_F(BridgeTest, ForgetsAReleasedTerminal) {
  const std::string terminal = Terminal("hang");
  Ask("release", terminal);
  const Json output = Ask("output", terminal);
  EXPECT_EQ(output["error"]["code"], -32002);
  EXPECT_EQ(output["error"]["data"]["terminalId"], terminal);
  EXPECT_EQ(Ask("wait_for_exit", terminal)["error"]["code"], -32002);
  EXPECT_EQ(Ask("kill", terminal)["error"]["code"], -32002);
}

TEST_F(BridgeTest, AcceptsASecondRelease) {
  const std::string terminal = Terminal("hang");
  Ask("release", terminal);
  EXPECT_EQ(Ask("release", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("release", "never-issued")["error"]["code"], -32002);
  Request("1", "terminal/release", Reference(terminal, "other"));
  EXPECT_EQ(Answer()["error"]["code"], -32002);
}

TEST_F(BridgeTest, RefusesTheTerminalOfAnotherSession) {
  const std::string terminal = Terminal("hang");
  Request("1", "terminal/kill", Reference(terminal, "other"));
  EXPECT_EQ(Answer()["error"]["code"], -32002);
}

TEST_F(BridgeTest, ReportsASignalToACommandThatIsGoneAsDelivered) {
  const std::string terminal = Terminal("hang");
  for (const auto code :
       {grpc::StatusCode::FAILED_PRECONDITION, grpc::StatusCode::NOT_FOUND}) {
    server_.FailSignals(code);
    EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
  }
  server_.FailSignals(grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Ask("kill", terminal).contains("error"));
}

TEST_F(BridgeTest, PassesOnACancellationThatComesAfterTheAnswer) {
  const std::string terminal = Terminal("hang");
  EXPECT_TRUE(Ask("kill", terminal).contains("result"));
  Cancel("2");
  EXPECT_THAT(client_, SizeIs(1));
}

TEST_F(BridgeTest, KeepsATerminalWhoseExecutionIsGone) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  server_.Stop();
  server_.LoseExecution("tenants/default/sandboxes/s1/executions/t1");
  Request("8", "terminal/wait_for_exit", Reference(terminal));
  server_.Start();
  EXPECT_THAT(Answer()["error"]["data"]["details"], HasSubstr("t1"));
  const Json result = Ask("output", terminal)["result"];
  EXPECT_EQ(result["output"], "started\n");
  EXPECT_TRUE(result.contains("exitStatus"));
}

TEST_F(BridgeTest, CancelsAWaitAndNotTheCommand) {
  const std::string terminal = Terminal("hang");
  Request("9", "terminal/wait_for_exit", Reference(terminal));
  Cancel("9");
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 9);
  EXPECT_EQ(answer["error"]["code"], -32800);
  EXPECT_THAT(client_, IsEmpty());
  EXPECT_FALSE(Ask("output", terminal)["result"].contains("exitStatus"));
  EXPECT_THAT(server_.signals(), IsEmpty());
}

TEST_F(BridgeTest, CancelsACreation) {
  Request("9", "terminal/create", R"({"sessionId":"s","command":"hang"})");
  Cancel("9");
  EXPECT_EQ(Answer()["error"]["code"], -32800);
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/t1"));
  EXPECT_THAT(agent_, IsEmpty());
}

TEST_F(BridgeTest, CancelsOneOfTwoCreations) {
  Request("8", "terminal/create", R"({"sessionId":"s","command":"hello"})");
  Request("9", "terminal/create", R"({"sessionId":"s","command":"hang"})");
  Cancel("8");
  EXPECT_EQ(Answer()["id"], 8);
  EXPECT_TRUE(Answer().contains("result"));
}

TEST_F(BridgeTest, ReportsOutputWhileACommandRuns) {
  const std::string terminal = Terminal("hang");
  const Json answer = AskUntil(terminal, "started\n");
  EXPECT_FALSE(answer["result"].contains("exitStatus"));
  EXPECT_EQ(answer["result"]["truncated"], false);
}

TEST_F(BridgeTest, KeepsTheTailOfALongOutput) {
  const std::string terminal = Terminal("flood", R"(,"outputByteLimit":15000)");
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"]["exitCode"], 0);
  const Json result = Ask("output", terminal)["result"];
  EXPECT_EQ(result["output"],
            std::string(5000, 'k') + std::string(10'000, 'l'));
  EXPECT_EQ(result["truncated"], true);
}

TEST_F(BridgeTest, ReportsThatTheEndIsNotKnown) {
  const std::string terminal = Terminal("lost");
  const Json error = Ask("wait_for_exit", terminal)["error"];
  EXPECT_EQ(error["code"], -32603);
  EXPECT_EQ(error["data"]["details"],
            "how the command ended is not known: its sandbox died");
  EXPECT_EQ(Ask("output", terminal)["result"]["exitStatus"],
            (Json{{"exitCode", nullptr}, {"signal", nullptr}}));
}

TEST_F(BridgeTest, ReportsExitStatusAfterAServerRestart) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  Request("8", "terminal/wait_for_exit", Reference(terminal));
  server_.Stop();
  server_.Start();
  Request("9", "terminal/kill", Reference(terminal));
  // The command may have ended before the kill is answered.
  std::map<int, Json> results;
  for (int i = 0; i < 2; ++i) {
    const Json answer = Answer();
    results[answer["id"]] = answer["result"];
  }
  EXPECT_EQ(results[9], Json::object());
  EXPECT_EQ(results[8]["signal"], "SIGTERM");
}

TEST_F(BridgeTest, AnswersAKillWhenTheSignalIsDelivered) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  server_.Stop();
  Request("8", "terminal/kill", Reference(terminal));
  // Neither this cancellation nor another request is held up by the kill.
  Cancel("8");
  EXPECT_TRUE(Ask("output", terminal).contains("result"));
  EXPECT_THAT(agent_, IsEmpty());
  server_.Start();
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 8);
  EXPECT_EQ(answer["result"], Json::object());
  EXPECT_THAT(server_.signals(), SizeIs(1));
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeTest, ReportsThatTheServerDiscardedTheLastOutput) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  server_.Stop();
  const auto command =
      server_.FindExecution("tenants/default/sandboxes/s1/executions/t1");
  command->Print("discarded");
  command->Expire();
  server_.Start();
  Ask("kill", terminal);
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"]["signal"], "SIGTERM");
  const Json result = Ask("output", terminal)["result"];
  EXPECT_EQ(result["output"], "started\n");
  EXPECT_EQ(result["truncated"], true);
}

TEST_F(BridgeTest, StartsACommandOnceWhenAnswersAreLost) {
  server_.LoseAnswers(2);
  EXPECT_EQ(Terminal("hello"), "s1.t1");
  server_.LoseAnswers(2);
  EXPECT_EQ(Terminal("hello"), "s1.t2");
  EXPECT_THAT(server_.runs(), SizeIs(4));
  EXPECT_EQ(AskUntil("s1.t2", "hello\n")["result"]["truncated"], false);
}

TEST_F(BridgeTest, DeletesNothingWhenTheServerRefusesAStart) {
  Terminal("hello");
  server_.FailStartedCommands(grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Create("hang")["error"]["data"]["reason"], "PERMISSION_DENIED");
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(BridgeTest, DeletesTheExecutionOfACommandThatDidNotStart) {
  server_.FailStarts({});
  Create("hello");
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/t1"));
}

TEST_F(BridgeTest, DeletesTheExecutionOfAnEndedTerminalAtItsRelease) {
  const std::string terminal = Terminal("hello");
  Ask("wait_for_exit", terminal);
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), IsEmpty());
  Ask("release", terminal);
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/t1"));
  EXPECT_THAT(server_.signals(), IsEmpty());
}

}  // namespace
}  // namespace bridge

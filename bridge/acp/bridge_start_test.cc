// How the bridge starts the commands of an agent, against a fake server.

#include <errno.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(BridgeTest, LimitsTheOutputThatTheServerKeeps) {
  Terminal("hello", R"(,"outputByteLimit":100000000)");
  EXPECT_EQ(server_.runs().front().command().output().retain_bytes(),
            17u << 20);
}

// Variables as "NAME=VALUE".
std::vector<std::string> VariablesOf(const corral::v1::Command& command) {
  std::vector<std::string> variables;
  for (const auto& variable : command.environment()) {
    variables.push_back(absl::StrCat(variable.name(), "=", variable.value()));
  }
  return variables;
}

TEST_F(BridgeTest, LetsNoProgramWaitForAKeyUnlessTheAgentAsksForIt) {
  Terminal("hello");
  Terminal("hello", R"(,"env":[{"name":"GIT_PAGER","value":"less"}])");
  EXPECT_THAT(
      VariablesOf(server_.runs()[0].command()),
      ElementsAre("PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"));
  EXPECT_THAT(
      VariablesOf(server_.runs()[1].command()),
      ElementsAre("GIT_PAGER=less", "PAGER=cat", "GIT_TERMINAL_PROMPT=0"));
}

TEST_F(BridgeTest, TriesOtherShellsIfTheServerHasNotTheAgents) {
  corral::v1::StartFailure failure;
  failure.set_stage(corral::v1::StartFailure::EXEC);
  failure.set_errno_value(ENOENT);
  server_.FailStarts(failure);
  const char* const arguments = R"(,"args":["-lc","ls"])";
  EXPECT_THAT(Create("/opt/bin/zsh", arguments)["error"]["data"]["details"],
              HasSubstr("spawn /bin/sh ENOENT"));
  const auto runs = server_.runs();
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_THAT(runs[0].command().argv(),
              ElementsAre("/opt/bin/zsh", "-lc", "ls"));
  EXPECT_THAT(runs[1].command().argv(), ElementsAre("zsh", "-lc", "ls"));
  EXPECT_THAT(runs[2].command().argv(), ElementsAre("/bin/sh", "-c", "ls"));
  EXPECT_EQ(runs[2].execution_id(), "t3");
  EXPECT_NE(runs[1].request_id(), runs[2].request_id());
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), SizeIs(3));
}

TEST_F(BridgeTest, TriesNoOtherShellIfTheAgentsCannotRun) {
  corral::v1::StartFailure failure;
  failure.set_stage(corral::v1::StartFailure::EXEC);
  failure.set_errno_value(EACCES);
  server_.FailStarts(failure);
  EXPECT_TRUE(
      Create("/opt/bin/zsh", R"(,"args":["-lc","ls"])").contains("error"));
  failure.set_stage(corral::v1::StartFailure::CHDIR);
  failure.set_errno_value(ENOENT);
  server_.FailStarts(failure);
  EXPECT_TRUE(
      Create("/opt/bin/zsh", R"(,"args":["-lc","ls"])").contains("error"));
  EXPECT_THAT(server_.runs(), SizeIs(2));
}

TEST_F(BridgeTest, GivesEachRefusedCommandATerminalOfItsOwn) {
  Finish();
  Make(WithRules("otherwise: DENY"));
  ::testing::internal::CaptureStderr();
  const std::string first = Terminal("hello");
  const std::string second = Terminal("hello");
  EXPECT_NE(first, second);
  Ask("release", first);
  EXPECT_TRUE(Ask("output", second).contains("result"));
  RunUntil([this] { return bridge_->idle(); });
  // There is no execution to delete.
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Not(HasSubstr("was not deleted")));
}

TEST_F(BridgeTest, SaysThatASessionHasNoDirectoryForACommand) {
  OpenSession("r", "relative");
  Request("1", "terminal/create", R"({"sessionId":"r","command":"hello"})");
  const Json error = Answer()["error"];
  EXPECT_EQ(error["code"], -32602);
  EXPECT_THAT(error["data"]["details"].get<std::string>(),
              HasSubstr("\"relative\", must be an absolute path"));
}

TEST_F(BridgeTest, ReplacesASandboxThatRefusesCommandsOnce) {
  server_.FailStartedCommands(grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Create("hello")["error"]["data"]["reason"], "FAILED_PRECONDITION");
  ASSERT_THAT(server_.runs(), SizeIs(2));
  EXPECT_EQ(server_.runs()[0].parent(), "tenants/default/sandboxes/s1");
  EXPECT_EQ(server_.runs()[1].parent(), "tenants/default/sandboxes/s2");
}

}  // namespace
}  // namespace bridge

#include "bridge/acp/agent_inside.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

class AgentInsideTest : public ::testing::Test {
 protected:
  Options Parse(std::vector<std::string> words,
                const std::string& agent = "/bin/sh") {
    words.insert(words.end(), {"--server", server_.address(), "--workspace",
                               "/none", agent, "--acp"});
    return *ParseOptions(words, "/d");
  }
  absl::StatusOr<bool> Examine(Options options) {
    return ExamineOptions(
        "/d", std::move(options),
        [this](absl::string_view line) { lines_.emplace_back(line); });
  }

  tests::FakeServer server_{
      [](tests::FakeExecution& command) { command.SetExit(0); }};
  const std::vector<std::string> corral_ = {"/p/corral", "--server", "s"};
  std::vector<std::string> lines_;
};

TEST_F(AgentInsideTest, PutsTheCommandThatRunsTheAgentInItsPlace) {
  Options options = Parse({"--agent-in-sandbox", "--memory", "64M", "--env",
                           "KEY", "--publish", "8080", "-p", "3000:0"});
  ASSERT_THAT(MoveInside(corral_, "/d", options), IsOk());
  const std::string& sandbox = options.bridge.workplace.agent_sandbox;
  EXPECT_THAT(sandbox, StartsWith("tenants/default/sandboxes/"));
  EXPECT_THAT(options.agent,
              ElementsAre("/p/corral", "--server", "s", "exec", "--no-tty",
                          "--env", StartsWith("PATH="), "--env", "KEY",
                          "--publish", "8080:8080", "--publish", "3000:0",
                          sandbox, "--", "/usr/bin/sh", "--acp"));
  const auto creations = server_.creations();
  ASSERT_EQ(creations.size(), 1);
  EXPECT_EQ(creations[0].sandbox().workspace().path(), "/none");
  EXPECT_EQ(creations[0].sandbox().limits().memory_bytes(), 64 << 20);
}

TEST_F(AgentInsideTest, NeedsCorral) {
  Options options = Parse({"--agent-in-sandbox"});
  EXPECT_THAT(MoveInside({}, "/d", options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no corral stands next to corral-acp")));
  EXPECT_THAT(server_.creations(), IsEmpty());
}

TEST_F(AgentInsideTest, MakesNoSandboxForAnAgentThatDoesNotExist) {
  Options options = Parse({"--agent-in-sandbox"}, "/nonexistent/agent");
  EXPECT_TRUE(absl::IsNotFound(MoveInside(corral_, "/d", options)));
  EXPECT_THAT(server_.creations(), IsEmpty());
}

TEST_F(AgentInsideTest, SaysWhoShowsMoreAboutASandboxThatIsRefused) {
  Options options = Parse({"--agent-in-sandbox"});
  options.bridge.workplace.sandbox.mutable_limits()->set_pids(1);
  EXPECT_THAT(MoveInside(corral_, "/d", options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(StartsWith("the agent's sandbox: "),
                             HasSubstr("sandbox.limits.pids"),
                             HasSubstr("`corral-acp doctor`"))));
  EXPECT_EQ(options.bridge.workplace.agent_sandbox, "");
}

TEST_F(AgentInsideTest, ExaminesAnAgentThatRunsInside) {
  const auto healthy = Examine(Parse({"doctor", "--agent-in-sandbox"}));
  ASSERT_THAT(healthy.status(), IsOk());
  EXPECT_TRUE(*healthy);
  EXPECT_THAT(lines_.front(), StartsWith("note  no profile; there are "));
  EXPECT_THAT(lines_.back(), StartsWith("ok    agent inside: "));
}

TEST_F(AgentInsideTest, ExaminesAnAgentThatRunsOutside) {
  const auto healthy = Examine(Parse({"doctor"}));
  ASSERT_THAT(healthy.status(), IsOk());
  EXPECT_TRUE(*healthy);
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("inside"))));
  EXPECT_THAT(lines_.back(), StartsWith("ok    command: "));
}

TEST_F(AgentInsideTest, ExaminesASetUpWithoutAnAgent) {
  Options options = Parse({"doctor", "--agent-in-sandbox"});
  options.agent.clear();
  const auto healthy = Examine(std::move(options));
  ASSERT_THAT(healthy.status(), IsOk());
  EXPECT_TRUE(*healthy);
}

TEST_F(AgentInsideTest, ReportsWhatIsWrongWithTheSetUp) {
  Options options = Parse({"doctor", "--agent-in-sandbox"});
  options.bridge.workplace.sandbox.mutable_limits()->set_pids(1);
  const auto healthy = Examine(std::move(options));
  ASSERT_THAT(healthy.status(), IsOk());
  EXPECT_FALSE(*healthy);
  EXPECT_TRUE(absl::IsNotFound(
      Examine(Parse({"doctor", "--agent-in-sandbox"}, "/nonexistent/agent"))
          .status()));
}

}  // namespace
}  // namespace bridge

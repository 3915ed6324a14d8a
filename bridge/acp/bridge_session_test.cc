// Tests what the bridge does beyond the five methods: display, gate,
// limits, maps, cancellation. Against a fake server.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class BridgeSessionTest : public BridgeTest {
 protected:
  // Replaces the bridge.
  void Remake(BridgeOptions options) {
    Finish();
    Make(std::move(options));
  }

  // Makes a bridge that waits only a short time after a cancellation.
  void RemakeHasty() {
    BridgeOptions options;
    options.cancel_grace = absl::Milliseconds(50);
    Remake(std::move(options));
  }

  Json FromClient() {
    RunUntil([this] { return !client_.empty(); });
    const Json message = ParseJson(client_.front()).value_or(nullptr);
    client_.pop_front();
    return message;
  }

  void Respond(const Json& request, const Json& result) {
    bridge_->OnClientLine(absl::StrCat(
        Serialize(Json{{"id", request["id"]}, {"result", result}}), "\n"));
  }

  void Prompt(const std::string& id) {
    bridge_->OnClientLine(absl::StrCat(
        R"({"id":)", id,
        R"(,"method":"session/prompt","params":{"sessionId":"s"}})", "\n"));
    agent_.pop_back();
  }
};

TEST_F(BridgeSessionTest, ShowsAnEmbeddedTerminalInTheClient) {
  bridge_->OnClientLine(
      R"({"id":0,"method":"initialize","params":{"clientCapabilities":)"
      R"({"_meta":{"terminal_output":true}}}})"
      "\n");
  agent_.clear();
  const std::string terminal = Terminal("hang");
  bridge_->OnAgentLine(absl::StrCat(
      R"({"method":"session/update","params":{"sessionId":"s","update":)"
      R"({"sessionUpdate":"tool_call","toolCallId":"c","content":)"
      R"([{"type":"terminal","terminalId":")",
      terminal, "\"}]}}}\n"));
  Json update = FromClient()["params"]["update"];
  EXPECT_EQ(update["_meta"]["terminal_info"],
            (Json{{"terminal_id", terminal}, {"cwd", "/w"}}));
  update = FromClient()["params"]["update"];
  EXPECT_EQ(update["_meta"]["terminal_output"]["data"], "started\n");
  Ask("kill", terminal);
  update = FromClient()["params"]["update"];
  EXPECT_EQ(update["_meta"]["terminal_exit"]["signal"], "SIGTERM");
}

TEST_F(BridgeSessionTest, NeverGivesTheAgentAResponseToTheBridge) {
  Remake(WithRules("otherwise: ASK"));
  Request("1", "terminal/create", R"({"sessionId":"s","command":"hello"})");
  const Json question = FromClient();
  EXPECT_EQ(question["method"], "session/request_permission");
  Respond(question,
          {{"outcome", {{"outcome", "selected"}, {"optionId", "allow_once"}}}});
  EXPECT_TRUE(Answer().contains("result"));
  Respond(question, nullptr);
  // The client's own responses pass, also with an id like the agent's request.
  bridge_->OnClientLine("{\"id\":1,\"result\":{}}\n");
  EXPECT_THAT(agent_, ElementsAre("{\"id\":1,\"result\":{}}\n"));
}

TEST_F(BridgeSessionTest, EndsTheTerminalOfARefusedCommand) {
  Remake(WithRules(
      R"(rule { decision: DENY program: "hello" reason: "no greetings" })"));
  const std::string terminal = Terminal("hello");
  const Json wait = Ask("wait_for_exit", terminal)["result"];
  EXPECT_EQ(wait["exitCode"], 126);
  EXPECT_EQ(wait["_meta"]["corral"]["cause"], "REFUSED");
  EXPECT_EQ(Ask("output", terminal)["result"]["output"],
            "corral: not run: no greetings\n");
  EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("release", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("release", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("output", terminal)["error"]["code"], -32002);
  EXPECT_THAT(server_.runs(), IsEmpty());
}

TEST_F(BridgeSessionTest, WithdrawsTheQuestionForACancelledCreation) {
  Remake(WithRules("otherwise: ASK"));
  Request("1", "terminal/create", R"({"sessionId":"s","command":"hello"})");
  const Json question = FromClient();
  Cancel("1");
  EXPECT_EQ(Answer()["error"]["code"], -32800);
  EXPECT_EQ(FromClient()["method"], "$/cancel_request");
  Respond(question,
          {{"outcome", {{"outcome", "selected"}, {"optionId", "allow_once"}}}});
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.runs(), IsEmpty());
}

TEST_F(BridgeSessionTest, TakesTheShorterLimitOfBridgeAndRule) {
  BridgeOptions options =
      WithRules(R"(rule { decision: ALLOW program: "hello" timeout: "5s" }
                   rule { decision: ALLOW program: "fail" cpu_timeout: "7s" })");
  options.limits.timeout = absl::Seconds(9);
  Remake(std::move(options));
  Terminal("hello");
  Terminal("fail");
  EXPECT_EQ(server_.runs()[0].command().wall_timeout().seconds(), 5);
  EXPECT_FALSE(server_.runs()[0].command().has_cpu_timeout());
  EXPECT_EQ(server_.runs()[1].command().wall_timeout().seconds(), 9);
  EXPECT_EQ(server_.runs()[1].command().cpu_timeout().seconds(), 7);
}

TEST_F(BridgeSessionTest, SaysInTheOutputWhichLimitEndedACommand) {
  const std::string terminal = Terminal("exhaust");
  const Json wait = Ask("wait_for_exit", terminal)["result"];
  EXPECT_EQ(wait["signal"], "SIGKILL");
  EXPECT_EQ(wait["_meta"]["corral"]["cause"], "OUT_OF_MEMORY");
  const Json output = Ask("output", terminal)["result"];
  EXPECT_EQ(output["output"],
            "much\ncorral: out of memory: the sandbox reached its limit\n");
  EXPECT_EQ(output["_meta"]["corral"]["cause"], "OUT_OF_MEMORY");
}

TEST_F(BridgeSessionTest, ReleasesATerminalThatTheAgentHasForgotten) {
  BridgeOptions options;
  options.terminal_idle_limit = absl::Milliseconds(50);
  Remake(std::move(options));
  const std::string running = Terminal("hang");
  const std::string ended = Terminal("hello");
  Ask("wait_for_exit", ended);
  bool later = false;
  loop_.After(absl::Milliseconds(200), [&later] { later = true; });
  RunUntil([&later] { return later; });
  EXPECT_EQ(Ask("output", ended)["error"]["code"], -32002);
  EXPECT_EQ(Ask("release", ended)["result"], Json::object());
  EXPECT_TRUE(Ask("output", running).contains("result"));
}

TEST_F(BridgeSessionTest, KeepsATerminalThatTheAgentGoesOnToUse) {
  BridgeOptions options;
  const absl::Duration limit = absl::Milliseconds(100);
  options.terminal_idle_limit = limit;
  Remake(std::move(options));
  const std::string terminal = Terminal("hello");
  absl::Time used = absl::Now();
  Ask("wait_for_exit", terminal);
  const absl::Time enough = absl::Now() + 3 * limit;
  while (used < enough) {
    const absl::Time now = absl::Now();
    if (!Ask("output", terminal).contains("result")) {
      // The bridge may forget it only if this test could not use it in time.
      EXPECT_GE(absl::Now() - used, limit);
      break;
    }
    used = now;
  }
}

TEST_F(BridgeSessionTest, GivesASignalACodeForAgentsThatNeedOne) {
  BridgeOptions options;
  options.signal_codes = SignalCodes::kAsShell;
  Remake(std::move(options));
  const std::string terminal = Terminal("hang");
  Ask("kill", terminal);
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"],
            (Json{{"exitCode", 143}, {"signal", "SIGTERM"}}));
}

TEST_F(BridgeSessionTest, UsesTheServersPaths) {
  BridgeOptions options;
  ASSERT_TRUE(options.workplace.map.Add("/w=/srv/w").ok());
  Remake(std::move(options));
  Terminal("bash", R"(,"args":["-c","cd '/w' && ls /w/a"],"cwd":"/w/sub",)"
                   R"("env":[{"name":"D","value":"/w/d"}])");
  EXPECT_EQ(server_.creations().back().sandbox().workspace().path(), "/srv/w");
  const corral::v1::Command command = server_.runs().front().command();
  EXPECT_EQ(command.working_directory(), "/srv/w/sub");
  EXPECT_THAT(command.argv(),
              ElementsAre("bash", "-c", "cd '/srv/w' && ls /srv/w/a"));
  EXPECT_EQ(command.environment(0).value(), "/srv/w/d");
}

TEST_F(BridgeSessionTest, ReportsAtTheOpeningThatNoCommandCanRun) {
  BridgeOptions options;
  options.preparation = Preparation::kWithSession;
  Remake(std::move(options));
  EXPECT_THAT(client_, IsEmpty());
  bridge_->OnClientLine(
      R"({"id":3,"method":"session/new","params":{"cwd":"relative"}})"
      "\n");
  bridge_->OnAgentLine("{\"id\":3,\"result\":{\"sessionId\":\"t\"}}\n");
  // The client learns the id of the session first.
  EXPECT_EQ(FromClient()["id"], 3);
  const Json update = FromClient()["params"];
  EXPECT_EQ(update["sessionId"], "t");
  EXPECT_EQ(update["update"]["sessionUpdate"], "agent_message_chunk");
  EXPECT_THAT(update["update"]["content"]["text"],
              AllOf(HasSubstr("\"relative\""), HasSubstr("--workspace")));
}

TEST_F(BridgeSessionTest, AdvisesOnAWorkspaceThatTheServerRefuses) {
  const auto text = [this](BridgeOptions options) {
    options.preparation = Preparation::kWithSession;
    Remake(std::move(options));
    return FromClient()["params"]["update"]["content"]["text"]
        .get<std::string>();
  };
  BridgeOptions workspace;
  workspace.workplace.workspace = "/proc/1";
  EXPECT_THAT(text(std::move(workspace)),
              AllOf(HasSubstr("sandbox.workspace.path"), HasSubstr("--map")));
  // The text of this error speaks of a workspace, too.
  BridgeOptions mount;
  mount.workplace.sandbox.add_mounts()->set_source("/w/x");
  mount.workplace.sandbox.mutable_mounts(0)->set_target("/w/x");
  EXPECT_THAT(text(std::move(mount)),
              AllOf(HasSubstr("sandbox.mounts[0]"), HasSubstr("workspace"),
                    Not(HasSubstr("--map"))));
}

TEST_F(BridgeSessionTest, AdvisesOnDirectoriesOnlyIfTheyAreTheTrouble) {
  server_.Stop();
  BridgeOptions options;
  options.preparation = Preparation::kWithSession;
  absl::Time time = absl::UnixEpoch();
  options.server.timing.now = [&time] { return time += absl::Seconds(3); };
  Remake(std::move(options));
  const std::string text =
      FromClient()["params"]["update"]["content"]["text"].get<std::string>();
  EXPECT_THAT(text, HasSubstr("check that corrald runs there"));
  EXPECT_THAT(text, Not(HasSubstr("--map")));
}

TEST_F(BridgeSessionTest, SaysNothingAboutASessionThatIsClosedMeanwhile) {
  BridgeOptions options;
  options.preparation = Preparation::kWithSession;
  Remake(std::move(options));
  CloseSession("s");
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeSessionTest, AsksAgainInASessionThatIsOpenedAgain) {
  Remake(WithRules("otherwise: ASK"));
  for (int round = 0; round < 2; ++round) {
    Request("1", "terminal/create", R"({"sessionId":"s","command":"hello"})");
    const Json question = FromClient();
    EXPECT_EQ(question["method"], "session/request_permission");
    Respond(
        question,
        {{"outcome", {{"outcome", "selected"}, {"optionId", "allow_always"}}}});
    EXPECT_TRUE(Answer().contains("result"));
    FromClient();  // the end of the question
    CloseSession("s");
    OpenSession("s", "/w");
  }
}

TEST_F(BridgeSessionTest, LearnsAboutToolCallsFromPermissionRequests) {
  bridge_->OnClientLine(
      R"({"id":0,"method":"initialize","params":{"clientCapabilities":)"
      R"({"_meta":{"terminal_output":true}}}})"
      "\n");
  agent_.clear();
  const std::string permission =
      R"({"id":4,"method":"session/request_permission","params":)"
      R"({"sessionId":"s","toolCall":{"toolCallId":"c","title":"asked"}}})"
      "\n";
  bridge_->OnAgentLine(permission);
  EXPECT_THAT(client_, ElementsAre(permission));
  client_.clear();
  const std::string terminal = Terminal("hello");
  bridge_->OnAgentLine(absl::StrCat(
      R"({"method":"session/update","params":{"sessionId":"s","update":)"
      R"({"sessionUpdate":"tool_call_update","toolCallId":"c","content":)"
      R"([{"type":"terminal","terminalId":")",
      terminal, "\"}]}}}\n"));
  EXPECT_EQ(FromClient()["params"]["update"]["title"], "asked");
}

// Leaves the client a mirror of a terminal that the agent has released.
TEST_F(BridgeSessionTest, EndsMirrorsWithTheirTurnOrTheirSession) {
  for (const bool by_turn : {true, false}) {
    BridgeOptions options;
    options.display.attach = {"/bin/corral", "attach"};
    Remake(std::move(options));
    client_.clear();
    bridge_->OnClientLine(R"({"id":0,"method":"initialize","params":)"
                          R"({"clientCapabilities":{"terminal":true}}})"
                          "\n");
    agent_.clear();
    const std::string terminal = Terminal("hang");
    bridge_->OnAgentLine(absl::StrCat(
        R"({"method":"session/update","params":{"sessionId":"s","update":)"
        R"({"sessionUpdate":"tool_call","toolCallId":"c","content":)"
        R"([{"type":"terminal","terminalId":")",
        terminal, "\"}]}}}\n"));
    FromClient();
    Json request = FromClient();
    EXPECT_EQ(request["method"], "terminal/create");
    Respond(request, {{"terminalId", "M"}});
    request = FromClient();
    EXPECT_EQ(request["method"], "terminal/wait_for_exit");
    // The user stops the mirror, and with it the command.
    Respond(request, {{"exitCode", 0}});
    EXPECT_EQ(Ask("wait_for_exit", terminal)["result"]["signal"], "SIGTERM");
    Prompt("7");
    Ask("release", terminal);
    client_.clear();
    if (by_turn) {
      bridge_->OnAgentLine("{\"id\":7,\"result\":{}}\n");
      client_.erase(std::find(client_.begin(), client_.end(),
                              "{\"id\":7,\"result\":{}}\n"));
    } else {
      bridge_->OnClientLine(
          R"({"id":8,"method":"session/close","params":{"sessionId":"s"}})"
          "\n");
      agent_.pop_back();
      bridge_->OnAgentLine("{\"id\":8,\"result\":{}}\n");
      client_.erase(std::find(client_.begin(), client_.end(),
                              "{\"id\":8,\"result\":{}}\n"));
    }
    request = FromClient();
    EXPECT_EQ(request["method"], "terminal/release");
    EXPECT_EQ(request["params"]["terminalId"], "M");
  }
}

TEST_F(BridgeSessionTest, MakesTheSandboxWhenTheSessionOpens) {
  BridgeOptions options;
  options.preparation = Preparation::kWithSession;
  Remake(std::move(options));
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.creations(), SizeIs(1));
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeSessionTest, EndsCommandsOfAnAgentThatIgnoresACancellation) {
  RemakeHasty();
  OpenSession("o", "/w");
  Request("1", "terminal/create", R"({"sessionId":"o","command":"hang"})");
  EXPECT_TRUE(Answer().contains("result"));
  Ask("wait_for_exit", Terminal("hello"));
  const std::string terminal = Terminal("hang");
  Prompt("7");
  bridge_->OnClientLine(
      R"({"method":"session/cancel","params":{"sessionId":"s"}})"
      "\n");
  EXPECT_THAT(agent_.back(), HasSubstr("session/cancel"));
  agent_.pop_back();
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"]["signal"], "SIGTERM");
  // Neither commands that have ended nor those of other sessions.
  EXPECT_THAT(server_.signals(), SizeIs(1));
}

TEST_F(BridgeSessionTest, LeavesTheCommandsOfAnAgentThatAnswersACancellation) {
  RemakeHasty();
  Terminal("hang");
  Prompt("7");
  bridge_->OnClientLine(
      R"({"method":"session/cancel","params":{"sessionId":"s"}})"
      "\n");
  bridge_->OnAgentLine(
      "{\"id\":7,\"result\":{\"stopReason\":\"cancelled\"}}\n");
  bool later = false;
  loop_.After(absl::Milliseconds(200), [&later] { later = true; });
  RunUntil([&later] { return later; });
  EXPECT_THAT(server_.signals(), IsEmpty());
}

}  // namespace
}  // namespace bridge

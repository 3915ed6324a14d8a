// The bridge between the lines of a client and an agent, against a fake server.

#include "bridge/acp/bridge.h"

#include <signal.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/event_loop.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::tests::FakeExecution;

// What a fake command does: the first word of its argv[0].
void Script(FakeExecution& command) {
  const std::string& program = command.command().argv(0);
  if (program == "hello") {
    command.Print("hello\n");
  } else if (program == "fail") {
    command.SetExit(3);
  } else if (program == "hang") {
    command.Print("started\n");
    command.Hang();
  } else if (program == "stubborn") {
    command.CatchSignals();
    command.Print("caught\n");
    command.Hang();
  } else if (program == "flood") {
    for (int i = 0; i < 1000; ++i) {
      command.Print(std::string(10'000, static_cast<char>('a' + i % 26)));
    }
  } else if (program == "lost") {
    command.SetLost();
  }
}

class BridgeTest : public ::testing::Test {
 protected:
  BridgeTest() { Make({}); }
  ~BridgeTest() override { Finish(); }

  void Make(BridgeOptions options) {
    options.server.server = server_.address();
    bridge_ = std::make_unique<Bridge>(
        &loop_, std::move(options),
        [this](std::string line) { client_.push_back(std::move(line)); },
        [this](std::string line) { agent_.push_back(std::move(line)); });
  }

  void Finish() {
    bridge_->Close();
    RunUntil([this] { return bridge_->idle(); });
    bridge_.reset();
  }

  void RunUntil(const std::function<bool()>& condition) {
    std::vector<pollfd> none;
    while (!condition()) {
      loop_.RunOnce(none);
    }
  }

  void Request(const std::string& id, const std::string& method,
               const std::string& params) {
    bridge_->OnAgentLine(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id,
                                      R"(,"method":")", method,
                                      R"(","params":)", params, "}\n"));
  }

  // The next answer to the agent.
  Json Answer() {
    RunUntil([this] { return !agent_.empty(); });
    const std::string line = agent_.front();
    agent_.pop_front();
    EXPECT_TRUE(absl::EndsWith(line, "\n"));
    return ParseJson(line).value_or(Json());
  }

  Json Create(const std::string& command, const std::string& more = "") {
    Request("1", "terminal/create",
            absl::StrCat(R"({"sessionId":"s","cwd":"/w","command":")", command,
                         "\"", more, "}"));
    return Answer();
  }

  std::string Terminal(const std::string& command,
                       const std::string& more = "") {
    const Json answer = Create(command, more);
    return answer.contains("result") ? answer["result"]["terminalId"] : "";
  }

  static std::string Reference(const std::string& terminal,
                               const std::string& session = "s") {
    return absl::StrCat(R"({"sessionId":")", session, R"(","terminalId":")",
                        terminal, "\"}");
  }

  Json Ask(const std::string& method, const std::string& terminal) {
    Request("2", "terminal/" + method, Reference(terminal));
    return Answer();
  }

  // Until the output is there.
  Json AskUntil(const std::string& terminal, const std::string& output) {
    Json answer;
    std::vector<pollfd> none;
    do {
      loop_.RunOnce(none);
      answer = Ask("output", terminal);
    } while (answer["result"]["output"] != output);
    return answer;
  }

  tests::FakeServer server_{Script};
  EventLoop loop_;
  std::deque<std::string> client_;
  std::deque<std::string> agent_;
  std::unique_ptr<Bridge> bridge_;
};

TEST_F(BridgeTest, PassesEveryOtherLineOnAsItIs) {
  for (const char* line :
       {"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"session/prompt\"}\r\n",
        "\n", "not json\n", "[{\"method\":\"terminal/create\",\"id\":1}]\n",
        "{\"method\":\"terminal/kill\"}\n", "\xff\xfe\n", "last",
        "{\"id\":1.50, \"result\":{\"x\":1e400}}\n",
        "{\"method\":\"_ext/terminal\",\"id\":1}\n"}) {
    bridge_->OnAgentLine(line);
    EXPECT_THAT(client_, ElementsAre(line));
    client_.clear();
    bridge_->OnClientLine(line);
    EXPECT_THAT(agent_, ElementsAre(line));
    agent_.clear();
  }
}

TEST_F(BridgeTest, EditsInitialize) {
  bridge_->OnClientLine(
      "{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":2,"
      "\"clientCapabilities\":{\"terminal\":false}}}\r\n");
  EXPECT_THAT(agent_,
              ElementsAre("{\"id\":0,\"method\":\"initialize\",\"params\":{"
                          "\"protocolVersion\":1,\"clientCapabilities\":{"
                          "\"terminal\":true}}}\r\n"));
}

TEST_F(BridgeTest, StepsAsideForAnAgentWithoutTerminals) {
  bridge_->OnClientLine(R"({"id":"i","method":"initialize","params":{}})");
  bridge_->OnAgentLine(R"({"id":"i","result":{"protocolVersion":2}})");
  client_.clear();
  Request("0", "terminal/create", "{}");
  EXPECT_THAT(client_, SizeIs(1));
}

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

TEST_F(BridgeTest, AnswersWithTheIdAsItWasWritten) {
  for (const char* id :
       {"0", "\"0\"", "null", "9223372036854775807", "1e2", "\"\\u0061\""}) {
    Request(id, "terminal/output", Reference("unknown"));
    ASSERT_THAT(agent_, SizeIs(1));
    EXPECT_THAT(agent_.front(),
                HasSubstr(absl::StrCat("\"id\":", id, ",\"error\"")));
    agent_.clear();
  }
}

TEST_F(BridgeTest, PassesArgumentsAndEnvironmentToTheServer) {
  Terminal("hello", R"(,"args":["a","b c"],"env":[{"name":"N","value":"V"}],)"
                    R"("outputByteLimit":10)");
  const corral::v1::Command command = server_.starts().front().command();
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
  EXPECT_THAT(server_.starts().front().command().argv(),
              ElementsAre("/bin/sh", "-c", "echo hi | cat"));
}

TEST_F(BridgeTest, PassesTheOptionsToTheServer) {
  Finish();
  BridgeOptions options;
  options.workplace.workspace = "/other";
  options.workplace.read_only = true;
  options.workplace.limits.set_pids(50);
  options.command_timeout = absl::Milliseconds(1500);
  Make(std::move(options));
  Terminal("hello");
  const corral::v1::Sandbox sandbox = server_.creations().front().sandbox();
  EXPECT_EQ(sandbox.workspace().path(), "/other");
  EXPECT_TRUE(sandbox.workspace().read_only());
  EXPECT_EQ(sandbox.limits().pids(), 50u);
  EXPECT_FALSE(sandbox.limits().has_memory_bytes());
  const corral::v1::Command command = server_.starts().front().command();
  EXPECT_EQ(command.wall_timeout().seconds(), 1);
  EXPECT_EQ(command.wall_timeout().nanos(), 500'000'000);
}

TEST_F(BridgeTest, MakesOneSandboxForEachSession) {
  bridge_->OnClientLine(
      R"({"id":0,"method":"session/new","params":{"cwd":"/one"}})");
  bridge_->OnClientLine(
      R"({"id":1,"method":"session/new","params":{"cwd":"/two"}})");
  bridge_->OnAgentLine(R"({"id":1,"result":{"sessionId":"t"}})");
  bridge_->OnAgentLine(R"({"id":0,"result":{"sessionId":"o"}})");
  agent_.clear();
  for (const char* session : {"o", "t", "o"}) {
    Request(
        "5", "terminal/create",
        absl::StrCat(R"({"command":"hello","sessionId":")", session, "\"}"));
    Answer();
  }
  std::vector<std::string> workspaces;
  for (const auto& creation : server_.creations()) {
    workspaces.push_back(creation.sandbox().workspace().path());
  }
  EXPECT_THAT(workspaces, ElementsAre("/one", "/two"));
  EXPECT_EQ(server_.starts()[1].command().working_directory(), "/two");
}

TEST_F(BridgeTest, SharesASandboxThatIsJustBeingMade) {
  for (const char* id : {"1", "2", "3"}) {
    Request(id, "terminal/create",
            R"({"sessionId":"s","cwd":"/w","command":"hello"})");
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Answer().contains("result"));
  }
  EXPECT_THAT(server_.creations(), SizeIs(1));
}

TEST_F(BridgeTest, ReplacesASandboxThatIsGone) {
  Terminal("hello");
  auto stub = corral::v1::SandboxService::NewStub(grpc::CreateChannel(
      server_.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  corral::v1::DeleteSandboxRequest request;
  request.set_name("tenants/default/sandboxes/s1");
  google::protobuf::Empty empty;
  ASSERT_TRUE(stub->DeleteSandbox(&context, request, &empty).ok());
  EXPECT_NE(Terminal("hello"), "");
  EXPECT_THAT(server_.creations(), SizeIs(2));
}

TEST_F(BridgeTest, TellsWhyACommandDidNotStart) {
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

TEST_F(BridgeTest, RefusesBadParameters) {
  const Json answer = Create("hello", R"(,"args":"x")");
  EXPECT_EQ(answer["error"]["code"], -32602);
  EXPECT_THAT(answer["error"]["data"]["details"].get<std::string>(),
              HasSubstr("args is \"x\""));
  Request("1", "terminal/output", "[]");
  EXPECT_EQ(Answer()["error"]["code"], -32602);
}

TEST_F(BridgeTest, RefusesAnUnknownSession) {
  Request("1", "terminal/create", R"({"sessionId":"u","command":"hello"})");
  const Json answer = Answer();
  EXPECT_EQ(answer["error"]["code"], -32002);
  EXPECT_EQ(answer["error"]["data"]["sessionId"], "u");
}

TEST_F(BridgeTest, RefusesUnknownMethodsAndIds) {
  Request("1", "terminal/resize", "{}");
  EXPECT_EQ(Answer()["error"]["code"], -32601);
  Request("{}", "terminal/kill", "{}");
  Json answer = Answer();
  EXPECT_EQ(answer["error"]["code"], -32600);
  EXPECT_TRUE(answer["id"].is_null());
  bridge_->OnAgentLine(
      "{\"id\":3,\"method\":\"terminal/create\",\"params\":{"
      "\"command\":\"\xff\"}}\n");
  answer = Answer();
  EXPECT_EQ(answer["error"]["code"], -32700);
  EXPECT_EQ(answer["id"], 3);
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeTest, KeepsTheTerminalAfterAKill) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"],
            (Json{{"exitCode", nullptr}, {"signal", "SIGTERM"}}));
  const Json output = Ask("output", terminal);
  EXPECT_EQ(output["result"]["output"], "started\n");
  EXPECT_EQ(output["result"]["exitStatus"]["signal"], "SIGTERM");
  EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
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
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/e1"));
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

TEST_F(BridgeTest, ReleasesTwiceWhatItOnceKnew) {
  const std::string terminal = Terminal("hang");
  Ask("release", terminal);
  EXPECT_EQ(Ask("release", terminal)["result"], Json::object());
  EXPECT_EQ(Ask("release", "never-issued")["error"]["code"], -32002);
  Request("1", "terminal/release", Reference(terminal, "other"));
  EXPECT_EQ(Answer()["error"]["code"], -32002);
}

TEST_F(BridgeTest, KeepsTerminalsOfOneSessionFromAnother) {
  const std::string terminal = Terminal("hang");
  Request("1", "terminal/kill", Reference(terminal, "other"));
  EXPECT_EQ(Answer()["error"]["code"], -32002);
}

TEST_F(BridgeTest, CancelsAWaitAndNotTheCommand) {
  const std::string terminal = Terminal("hang");
  Request("9", "terminal/wait_for_exit", Reference(terminal));
  bridge_->OnAgentLine(
      R"({"method":"$/cancel_request","params":{"requestId":9}})");
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 9);
  EXPECT_EQ(answer["error"]["code"], -32800);
  EXPECT_THAT(client_, IsEmpty());
  EXPECT_FALSE(Ask("output", terminal)["result"].contains("exitStatus"));
  EXPECT_THAT(server_.signals(), IsEmpty());
}

TEST_F(BridgeTest, CancelsACreation) {
  Request("9", "terminal/create",
          R"({"sessionId":"s","cwd":"/w","command":"hang"})");
  bridge_->OnAgentLine(
      R"({"method":"$/cancel_request","params":{"requestId":9}})");
  EXPECT_EQ(Answer()["error"]["code"], -32800);
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), SizeIs(1));
  EXPECT_THAT(agent_, IsEmpty());
}

TEST_F(BridgeTest, PassesOtherCancellationsOn) {
  const std::string cancel =
      R"({"method":"$/cancel_request","params":{"requestId":9}})";
  bridge_->OnAgentLine(cancel);
  EXPECT_THAT(client_, ElementsAre(cancel));
  bridge_->OnClientLine(cancel);
  EXPECT_THAT(agent_, ElementsAre(cancel));
}

TEST_F(BridgeTest, ReadsWhileACommandRuns) {
  const std::string terminal = Terminal("hang");
  const Json answer = AskUntil(terminal, "started\n");
  EXPECT_FALSE(answer["result"].contains("exitStatus"));
  EXPECT_EQ(answer["result"]["truncated"], false);
}

TEST_F(BridgeTest, KeepsTheEndOfALongOutput) {
  const std::string terminal = Terminal("flood", R"(,"outputByteLimit":15000)");
  EXPECT_EQ(Ask("wait_for_exit", terminal)["result"]["exitCode"], 0);
  const Json result = Ask("output", terminal)["result"];
  EXPECT_EQ(result["output"],
            std::string(5000, 'k') + std::string(10'000, 'l'));
  EXPECT_EQ(result["truncated"], true);
}

TEST_F(BridgeTest, TellsThatTheEndIsNotKnown) {
  const std::string terminal = Terminal("lost");
  EXPECT_EQ(Ask("wait_for_exit", terminal)["error"]["code"], -32603);
  EXPECT_EQ(Ask("output", terminal)["result"]["exitStatus"],
            (Json{{"exitCode", nullptr}, {"signal", nullptr}}));
}

TEST_F(BridgeTest, OutlivesARestartOfTheServer) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  Request("8", "terminal/wait_for_exit", Reference(terminal));
  server_.Stop();
  server_.Start();
  EXPECT_EQ(Ask("kill", terminal)["result"], Json::object());
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 8);
  EXPECT_EQ(answer["result"]["signal"], "SIGTERM");
}

TEST_F(BridgeTest, StartsACommandOnceWhenAnswersAreLost) {
  server_.LoseAnswers(2);
  EXPECT_EQ(Terminal("hello"), "s1.e1");
  server_.LoseAnswers(2);
  EXPECT_EQ(Terminal("hello"), "s1.e2");
  EXPECT_THAT(server_.starts(), SizeIs(4));
  EXPECT_EQ(AskUntil("s1.e2", "hello\n")["result"]["truncated"], false);
}

TEST_F(BridgeTest, LetsTheSandboxGoByItselfWhenItIsKilled) {
  Terminal("hello");
  EXPECT_EQ(server_.creations()[0].sandbox().lifetime().ShortDebugString(),
            "idle_timeout { seconds: 600 }");
}

TEST_F(BridgeTest, TellsThatThereIsNoServer) {
  server_.Stop();
  const Json answer = Create("hello");
  EXPECT_EQ(answer["error"]["code"], -32603);
  EXPECT_EQ(answer["error"]["data"]["reason"], "UNAVAILABLE");
  server_.Start();
  EXPECT_NE(Terminal("hello"), "");
}

TEST_F(BridgeTest, DeletesTheSandboxOfAClosedSession) {
  const std::string terminal = Terminal("hang");
  Request("3", "terminal/wait_for_exit", Reference(terminal));
  bridge_->OnClientLine(
      R"({"id":4,"method":"session/close","params":{"sessionId":"s"}})");
  bridge_->OnAgentLine(R"({"id":4,"result":{}})");
  agent_.pop_front();
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 3);
  EXPECT_EQ(answer["result"]["signal"], "SIGKILL");
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), ElementsAre("tenants/default/sandboxes/s1"));
}

TEST_F(BridgeTest, DeletesASandboxThatWasNotReadyAtTheEnd) {
  Request("9", "terminal/create",
          R"({"sessionId":"s","cwd":"/w","command":"hang"})");
  bridge_->Close();
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), ElementsAre("tenants/default/sandboxes/s1"));
}

TEST_F(BridgeTest, TellsTheSenderOfALongLine) {
  bridge_->OnLongAgentLine();
  const Json to_agent = Answer();
  EXPECT_EQ(to_agent["error"]["code"], -32600);
  EXPECT_TRUE(to_agent["id"].is_null());
  EXPECT_THAT(to_agent["error"]["message"].get<std::string>(),
              HasSubstr("33554432 bytes"));
  bridge_->OnLongClientLine();
  EXPECT_THAT(client_, SizeIs(1));
  EXPECT_THAT(agent_, IsEmpty());
}

}  // namespace
}  // namespace bridge

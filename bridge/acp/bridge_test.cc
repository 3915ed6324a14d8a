// The bridge between the lines of a client and an agent, against a fake server.

#include "bridge/acp/bridge.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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

TEST_F(BridgeTest, PassesOtherCancellationsOn) {
  const std::string cancel =
      R"({"method":"$/cancel_request","params":{"requestId":9}})";
  bridge_->OnAgentLine(cancel);
  EXPECT_THAT(client_, ElementsAre(cancel));
  bridge_->OnClientLine(cancel);
  EXPECT_THAT(agent_, ElementsAre(cancel));
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

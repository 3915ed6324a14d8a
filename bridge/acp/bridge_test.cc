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

TEST_F(BridgeTest, PassesOnEveryOtherLineByteForByte) {
  for (const char* line :
       {"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"session/prompt\"}\r\n",
        "\n", "not json\n", "\xff\xfe\n", "last", "{\"a\":1,\"a\":2}\n",
        "{\"id\":1.50, \"result\":{\"x\":1e400,\"y\":9007199254740993}}\n",
        "{\"method\":\"_ext/terminal\",\"id\":1}\n"}) {
    bridge_->OnAgentLine(line);
    EXPECT_THAT(client_, ElementsAre(line));
    client_.clear();
    bridge_->OnClientLine(line);
    EXPECT_THAT(agent_, ElementsAre(line));
    agent_.clear();
  }
}

TEST_F(BridgeTest, NeverPassesOnABrokenTerminalRequest) {
  const std::string create = R"({"method":"terminal/create","params":{}})";
  for (const std::string& line :
       {create, "[" + create + "]", "\xEF\xBB\xBF [" + create,
        std::string(R"({"id":1,"method":"terminal/create",})"),
        std::string(R"({"id":1,"method":"terminal\/create"} x)"),
        std::string(R"({'id':1,'method':'terminal/create'})"),
        std::string(R"({"id":1,"method":"x","method":"terminal/create"})"),
        std::string(R"({"id":1,"method":"terminal/create","method":"x"})"),
        std::string(R"({"id":1,"method":"x","Method":"terminal/create"})"),
        std::string(R"({"id":1,"result":{},"Method":"terminal/create"})")}) {
    bridge_->OnAgentLine(line + "\n");
    EXPECT_THAT(client_, IsEmpty()) << line;
  }
}

TEST_F(BridgeTest, RefusesBatchesOfBothSides) {
  bridge_->OnAgentLine("[]\n");
  const std::string refusal =
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
      "\"message\":\"JSON-RPC batches are not supported\"}}\n";
  EXPECT_THAT(agent_, ElementsAre(refusal));
  EXPECT_THAT(client_, IsEmpty());
  agent_.clear();
  bridge_->OnClientLine("[]\n");
  EXPECT_THAT(client_, ElementsAre(refusal));
  EXPECT_THAT(agent_, IsEmpty());
}

TEST_F(BridgeTest, AnswersAMessageWithTwoMethods) {
  bridge_->OnAgentLine(R"({"id":1,"method":"x","method":"terminal/create"})");
  const Json answer = Answer();
  EXPECT_EQ(answer["error"]["code"], -32600);
  EXPECT_TRUE(answer["id"].is_null());
}

TEST_F(BridgeTest, AnswersABrokenObjectOfTheAgent) {
  bridge_->OnAgentLine("{\"id\":1,\n");
  const Json answer = Answer();
  EXPECT_EQ(answer["error"]["code"], -32700);
  EXPECT_TRUE(answer["id"].is_null());
}

TEST_F(BridgeTest, AnswersARequestThatNestsAMillionLevels) {
  const std::string deep =
      std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const std::string& params :
       {deep, R"({"sessionId":"s","command":"x","args":)" + deep + "}",
        R"({"sessionId":"s","command":"x","env":{"a":)" + deep + "}}",
        R"({"sessionId":)" + deep + R"(,"command":"x"})"}) {
    Request("1", "terminal/create", params);
    const Json answer = Answer();
    EXPECT_EQ(answer["error"]["code"], -32602);
    EXPECT_THAT(answer["error"]["data"]["details"].get<std::string>(),
                HasSubstr("nests deeper than 500 levels"));
  }
  // The value is the id of a request, and of its cancellation.
  Request(deep, "terminal/output", Reference("unknown"));
  EXPECT_THAT(agent_.front(), HasSubstr("\"id\":" + deep + ",\"error\""));
  agent_.clear();
  Cancel(deep);
  EXPECT_THAT(client_, SizeIs(1));
  // The value is in a message that is passed on.
  client_.clear();
  bridge_->OnAgentLine("{\"id\":0,\"result\":" + deep + "}\n");
  bridge_->OnClientLine(
      "{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" +
      deep + "}}\n");
  EXPECT_THAT(client_, SizeIs(1));
  EXPECT_THAT(agent_, SizeIs(1));
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

TEST_F(BridgeTest, PassesOnEverythingOnceTheAgentInsistsOnALaterVersion) {
  bridge_->OnClientLine(R"({"id":"i","method":"initialize","params":{}})");
  bridge_->OnAgentLine(R"({"id":"i","result":{"protocolVersion":2}})");
  client_.clear();
  Request("0", "terminal/create", "{}");
  bridge_->OnAgentLine("[]\n");
  bridge_->OnAgentLine("{\"id\":1,\n");
  EXPECT_THAT(client_, SizeIs(3));
  const std::string update =
      R"({"method":"session/update","params":{"sessionId":"s","update":)"
      R"({"sessionUpdate":"tool_call","toolCallId":"c","content":)"
      R"([{"type":"terminal","terminalId":"T"}]}}})";
  bridge_->OnAgentLine(update);
  EXPECT_EQ(client_.back(), update);
  agent_.clear();
  bridge_->OnClientLine("[]\n");
  EXPECT_THAT(agent_, ElementsAre("[]\n"));
}

TEST_F(BridgeTest, AnswersTerminalsUnlessTheAgentInsistsOnALaterVersion) {
  for (const char* version : {"1", "0", "\"2\"", "null"}) {
    bridge_->OnClientLine(R"({"id":"i","method":"initialize","params":{}})");
    bridge_->OnAgentLine(absl::StrCat(
        R"({"id":"i","result":{"protocolVersion":)", version, "}}"));
    agent_.clear();
    EXPECT_NE(Terminal("hello"), "") << version;
  }
  // An answer to another request says nothing.
  bridge_->OnClientLine(R"({"id":"i","method":"initialize","params":{}})");
  bridge_->OnAgentLine(R"({"id":"j","result":{"protocolVersion":2}})");
  bridge_->OnAgentLine(R"({"id":"i","result":{"protocolVersion":1}})");
  bridge_->OnAgentLine(R"({"id":"i","result":{"protocolVersion":2}})");
  agent_.clear();
  EXPECT_NE(Terminal("hello"), "");
}

TEST_F(BridgeTest, RepeatsAnIdOfAnyTypeAsWritten) {
  for (const char* id : {"0", "\"0\"", "null", "9223372036854775807", "1e2",
                         "\"\\u0061\"", "true", "[1, 2]", "{\"a\": {}}"}) {
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
  options.workplace.sandbox.mutable_limits()->set_pids(50);
  options.limits.timeout = absl::Milliseconds(1500);
  options.limits.cpu_timeout = absl::Seconds(3);
  Make(std::move(options));
  Terminal("hello");
  const corral::v1::Sandbox sandbox = server_.creations().front().sandbox();
  EXPECT_EQ(sandbox.workspace().path(), "/other");
  EXPECT_TRUE(sandbox.workspace().read_only());
  EXPECT_EQ(sandbox.limits().pids(), 50u);
  EXPECT_FALSE(sandbox.limits().has_memory_bytes());
  const corral::v1::Command command = server_.runs().front().command();
  EXPECT_EQ(command.wall_timeout().seconds(), 1);
  EXPECT_EQ(command.wall_timeout().nanos(), 500'000'000);
  EXPECT_EQ(command.cpu_timeout().seconds(), 3);
}

TEST_F(BridgeTest, CreatesOneSandboxForEachSession) {
  OpenSession("o", "/one");
  OpenSession("t", "/two");
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
  EXPECT_EQ(server_.runs()[1].command().working_directory(), "/two");
}

TEST_F(BridgeTest, SharesASandboxThatIsBeingCreated) {
  for (const char* id : {"1", "2", "3"}) {
    Request(id, "terminal/create", R"({"sessionId":"s","command":"hello"})");
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
  for (const char* cwd : {"", R"("cwd":"/w",)"}) {
    Request("1", "terminal/create",
            absl::StrCat("{", cwd, R"("sessionId":"u","command":"hello"})"));
    const Json answer = Answer();
    EXPECT_EQ(answer["error"]["code"], -32002);
    EXPECT_EQ(answer["error"]["data"]["sessionId"], "u");
  }
  EXPECT_THAT(server_.creations(), IsEmpty());
}

TEST_F(BridgeTest, RefusesUnknownMethods) {
  Request("1", "terminal/resize", "{}");
  EXPECT_EQ(Answer()["error"],
            (Json{{"code", -32601},
                  {"message", "Method not found"},
                  {"data", {{"method", "terminal/resize"}}}}));
}

TEST_F(BridgeTest, RefusesATerminalRequestThatIsNotJson) {
  bridge_->OnAgentLine(
      "{\"id\":3,\"method\":\"terminal/create\",\"params\":{"
      "\"command\":\"\xff\"}}\n");
  Json answer = Answer();
  EXPECT_EQ(answer["error"]["code"], -32700);
  EXPECT_EQ(answer["id"], 3);
  bridge_->OnAgentLine("{\"id\":x,\"method\":\"terminal/create\"}\n");
  answer = Answer();
  EXPECT_EQ(answer["error"]["code"], -32700);
  EXPECT_TRUE(answer["id"].is_null());
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeTest, PassesOnOtherCancellations) {
  const std::string cancel =
      R"({"method":"$/cancel_request","params":{"requestId":9}})";
  bridge_->OnAgentLine(cancel);
  EXPECT_THAT(client_, ElementsAre(cancel));
  bridge_->OnClientLine(cancel);
  EXPECT_THAT(agent_, ElementsAre(cancel));
}

TEST_F(BridgeTest, HoldsALeaseOnItsSandboxes) {
  Terminal("hello");
  EXPECT_EQ(server_.creations()[0].sandbox().lifetime().ShortDebugString(),
            "lease_timeout { seconds: 120 }");
}

TEST_F(BridgeTest, DeletesTheSandboxOfAClosedSession) {
  const std::string terminal = Terminal("hang");
  Request("3", "terminal/wait_for_exit", Reference(terminal));
  CloseSession("s");
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 3);
  EXPECT_EQ(answer["result"]["signal"], "SIGKILL");
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), ElementsAre("tenants/default/sandboxes/s1"));
}

TEST_F(BridgeTest, ForgetsTheTerminalsOfAClosedSession) {
  const std::string ended = Terminal("hello");
  Ask("wait_for_exit", ended);
  const std::string running = Terminal("hang");
  CloseSession("s");
  for (const std::string& terminal : {ended, running}) {
    EXPECT_EQ(Ask("output", terminal)["error"]["code"], -32002);
    EXPECT_EQ(Ask("release", terminal)["result"], Json::object());
  }
  OpenSession("s", "/w");
  EXPECT_EQ(Ask("output", ended)["error"]["code"], -32002);
}

TEST_F(BridgeTest, AnswersCreationsOfASessionThatIsClosed) {
  Request("9", "terminal/create", R"({"sessionId":"s","command":"hang"})");
  CloseSession("s");
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], 9);
  EXPECT_EQ(answer["error"]["code"], -32002);
  RunUntil([this] { return bridge_->idle(); });
  // The creation was answered: its cancellation is not ours any more.
  Cancel("9");
  EXPECT_THAT(client_, SizeIs(1));
  EXPECT_THAT(agent_, IsEmpty());
  EXPECT_THAT(server_.deletions(), ElementsAre("tenants/default/sandboxes/s1"));
}

TEST_F(BridgeTest, ClosesNoOtherSession) {
  OpenSession("o", "/w");
  const char* const creation = R"({"sessionId":"o","command":"hello"})";
  Request("7", "terminal/create", creation);
  const std::string terminal = Answer()["result"]["terminalId"];
  Request("8", "terminal/create", creation);
  CloseSession("s");
  Json answer = Answer();
  EXPECT_EQ(answer["id"], 8);
  EXPECT_TRUE(answer.contains("result"));
  Request("9", "terminal/output", Reference(terminal, "o"));
  EXPECT_TRUE(Answer().contains("result"));
}

TEST_F(BridgeTest, DeletesASandboxThatWasNotReadyAtTheEnd) {
  Request("9", "terminal/create", R"({"sessionId":"s","command":"hang"})");
  bridge_->Close();
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(server_.deletions(), ElementsAre("tenants/default/sandboxes/s1"));
}

TEST_F(BridgeTest, AnswersTheSenderOfALongLine) {
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

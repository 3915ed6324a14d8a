#include "bridge/mcp/protocol/mcp_server.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/protocol/reply_channel.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/tools.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

class Answers : public ReplyChannel {
 public:
  explicit Answers(std::vector<OrderedJson>* answers) : answers_(answers) {}
  void Send(const std::string& line) override {
    EXPECT_EQ(line.back(), '\n');
    answers_->push_back(ParseOrderedJson(line).value());
  }
  bool IsAbandoned() override { return abandoned_; }

  bool abandoned_ = false;

 private:
  std::vector<OrderedJson>* const answers_;
};

// Runs without a corrald: no message here may need one.
class McpServerTest : public ::testing::Test {
 protected:
  // The answers to these lines.
  std::vector<OrderedJson> Exchange(const std::vector<std::string>& lines) {
    answers_.clear();
    for (const std::string& line : lines) {
      server_.Receive(line, channel_);
    }
    server_.Finish();
    return answers_;
  }
  OrderedJson Ask(const std::string& method, const std::string& params) {
    const auto answers =
        Exchange({absl::StrCat(R"({"jsonrpc":"2.0","id":7,"method":")", method,
                               R"(","params":)", params, "}")});
    EXPECT_EQ(answers.size(), 1);
    return answers.empty() ? OrderedJson() : answers.front();
  }

  static TerminalsOptions NoServer() {
    TerminalsOptions options;
    options.sandbox.server.server = "unix:/nonexistent/socket";
    return options;
  }

  std::vector<OrderedJson> answers_;
  Recorder recorder_{80, 24};
  Terminals terminals_{NoServer(), &recorder_};
  Tools tools_{&terminals_, &recorder_};
  std::shared_ptr<Answers> channel_ = std::make_shared<Answers>(&answers_);
  ToolGate gate_{GateRules(), AuditLog(), "/bin/bash"};
  McpServer server_{&tools_, &gate_};
};

constexpr char kMeta[] =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

TEST_F(McpServerTest, AgreesOnEveryRevisionWithSessions) {
  for (const char* revision :
       {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    const OrderedJson answer =
        Ask("initialize",
            absl::StrCat(R"({"protocolVersion":")", revision, R"("})"));
    EXPECT_EQ(answer["id"], 7);
    EXPECT_EQ(answer["result"]["protocolVersion"], revision);
    EXPECT_EQ(answer["result"]["serverInfo"]["name"], "corral-mcp");
    EXPECT_FALSE(answer["result"].contains("resultType"));
  }
  EXPECT_EQ(
      Ask("initialize",
          R"({"protocolVersion":"1999-01-01"})")["result"]["protocolVersion"],
      "2025-11-25");
}

TEST_F(McpServerTest, ServesStatelessRequestsWithoutInitialize) {
  const OrderedJson discovered =
      Ask("server/discover", absl::StrCat("{", kMeta, "}"))["result"];
  EXPECT_EQ(discovered["supportedVersions"][0], "2026-07-28");
  EXPECT_EQ(discovered["resultType"], "complete");
  EXPECT_TRUE(discovered.contains("ttlMs"));
  EXPECT_TRUE(
      discovered["_meta"].contains("io.modelcontextprotocol/serverInfo"));
  const OrderedJson list =
      Ask("tools/list", absl::StrCat("{", kMeta, "}"))["result"];
  EXPECT_EQ(list["cacheScope"], "public");
  EXPECT_EQ(Ask("ping", absl::StrCat("{", kMeta, "}"))["error"]["code"],
            -32601);
}

TEST_F(McpServerTest, KnowsTheMethodsOfEachEra) {
  const std::string stateless = absl::StrCat("{", kMeta, "}");
  EXPECT_EQ(Ask("initialize", stateless)["error"]["code"], -32601);
  EXPECT_EQ(Ask("server/discover", "{}")["error"]["code"], -32601);
  EXPECT_TRUE(Ask("server/discover", stateless).contains("result"));
  EXPECT_EQ(Ask("ping", "{}")["result"], OrderedJson::object());
  EXPECT_EQ(Ask("initialize", "5")["result"]["protocolVersion"], "2025-11-25");
  // A client with a session knows the revision.
  EXPECT_EQ(Ask("server/discover", stateless)["error"]["code"], -32601);
}

TEST_F(McpServerTest, OffersThePromptThatExplainsItsTools) {
  OrderedJson list = Ask("prompts/list", "{}")["result"];
  ASSERT_EQ(list["prompts"].size(), 1);
  EXPECT_EQ(list["prompts"][0]["name"], "tool-usage");
  EXPECT_FALSE(list.contains("ttlMs"));
  list = Ask("prompts/list", absl::StrCat("{", kMeta, "}"))["result"];
  EXPECT_EQ(list["prompts"][0]["name"], "tool-usage");
  EXPECT_EQ(list["ttlMs"], 3'600'000);
  const OrderedJson prompt =
      Ask("prompts/get", R"({"name":"tool-usage"})")["result"];
  EXPECT_EQ(prompt["messages"][0]["content"]["text"],
            Ask("initialize", "{}")["result"]["instructions"]);
  EXPECT_EQ(Ask("prompts/get", "5")["error"]["code"], -32602);
}

TEST_F(McpServerTest, RefusesUnknownStatelessRevisions) {
  const OrderedJson error = Ask(
      "tools/list",
      R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}})")
      ["error"];
  EXPECT_EQ(error["code"], -32022);
  EXPECT_EQ(error["data"]["supported"][0], "2026-07-28");
  EXPECT_EQ(error["data"]["requested"], "2099-01-01");
  EXPECT_EQ(Ask("tools/list",
                R"({"_meta":{)"
                R"("io.modelcontextprotocol/protocolVersion":"2026-07-28"}})")
                ["error"]["code"],
            -32602);
}

TEST_F(McpServerTest, DescribesEveryToolCompletely) {
  const OrderedJson tools = Ask("tools/list", "{}")["result"]["tools"];
  EXPECT_GE(tools.size(), 10);
  for (const OrderedJson& tool : tools) {
    EXPECT_TRUE(tools_.Has(tool["name"].get<std::string>())) << tool;
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_EQ(tool["outputSchema"]["type"], "object");
    EXPECT_TRUE(tool["annotations"].contains("readOnlyHint"));
  }
}

TEST_F(McpServerTest, ReportsErrorsOfToolsAsResults) {
  const OrderedJson result = Ask(
      "tools/call",
      R"({"name":"stopRecording","arguments":{"recordingId":"x"}})")["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["content"][0]["text"], "Error: Recording not found: x");
  EXPECT_FALSE(result.contains("structuredContent"));
}

TEST_F(McpServerTest, RefusesWhatIsNoRequest) {
  const auto answers =
      Exchange({"not json", R"({"jsonrpc":"2.0","id":1)", "[]", "5", "",
                " \t\r", R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
                R"({"jsonrpc":"2.0","id":9,"result":{}})"});
  ASSERT_EQ(answers.size(), 5);
  const int codes[] = {-32700, -32700, -32600, -32600, -32600};
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]["error"]["code"], codes[i]);
    EXPECT_TRUE(answers[i]["id"].is_null());
  }
}

TEST_F(McpServerTest, RefusesUnknownMethodsToolsAndPrompts) {
  EXPECT_EQ(Ask("resources/list", "{}")["error"]["message"],
            "Method not found");
  EXPECT_EQ(Ask("tools/call", R"({"name":"nope"})")["error"]["message"],
            "Unknown tool: nope");
  EXPECT_EQ(Ask("tools/call", "{}")["error"]["code"], -32602);
  EXPECT_EQ(Ask("prompts/get", R"({"name":"nope"})")["error"]["code"], -32602);
  EXPECT_TRUE(
      Ask("prompts/get", R"({"name":"tool-usage"})").contains("result"));
}

TEST_F(McpServerTest, AnswersNoNotification) {
  EXPECT_TRUE(
      Exchange({R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
                R"({"jsonrpc":"2.0","method":"notifications/cancelled"})"})
          .empty());
  for (const std::string params : {"5", "{}", R"({"requestId":1})"}) {
    EXPECT_TRUE(Exchange({R"({"jsonrpc":"2.0","params":)" + params +
                          R"(,"method":"notifications/cancelled"})"})
                    .empty())
        << params;
  }
}

TEST_F(McpServerTest, MakesNoCallThatItsClientHasAbandoned) {
  channel_->abandoned_ = true;
  EXPECT_TRUE(Exchange({R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
                        R"("params":{"name":"stopRecording","arguments":{}}})"})
                  .empty());
}

}  // namespace
}  // namespace bridge

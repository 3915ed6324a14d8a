// Calls that the rules of the user decide about. Without a corrald: a command
// that may run fails for that alone.

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/protocol/waits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Thread-safe.
class Messages : public ReplyChannel {
 public:
  void Send(const std::string& line) override {
    sandbox::MutexLock lock(&mutex_);
    messages_.push_back(ParseOrderedJson(line).value());
    mutex_.Signal();
  }
  bool IsAbandoned() override { return false; }

  // The next message that was not taken yet.
  OrderedJson Take() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !messages_.empty();
    });
    OrderedJson message = messages_.front();
    messages_.erase(messages_.begin());
    return message;
  }

 private:
  sandbox::Mutex mutex_;
  std::vector<OrderedJson> messages_ ABSL_GUARDED_BY(mutex_);
};

class GatedCallsTest : public ::testing::Test {
 protected:
  static TerminalsOptions NoServer() {
    TerminalsOptions options;
    options.sandbox.server.server = "unix:/nonexistent/socket";
    return options;
  }

  void Make(const std::string& rules, const std::string& audit = "") {
    server_.reset();
    gate_ = std::make_unique<ToolGate>(
        *GateRules::Parse("rules", rules),
        audit.empty() ? AuditLog() : *AuditLog::Open(audit), "/bin/bash");
    server_ = std::make_unique<McpServer>(&tools_, gate_.get());
  }

  void Send(const std::string& method, const std::string& params) {
    server_->Receive(absl::StrCat(R"({"jsonrpc":"2.0","id":7,"method":")",
                                  method, R"(","params":)", params, "}"),
                     channel_);
  }

  void Initialize(const std::string& capabilities) {
    Send("initialize",
         absl::StrCat(R"({"protocolVersion":"2025-11-25","capabilities":)",
                      capabilities, "}"));
    channel_->Take();
  }

  void Run(const std::string& more = "") {
    Send("tools/call",
         absl::StrCat(R"({"name":"run","arguments":{"command":"make"})", more,
                      "}"));
  }

  // Answers a question of the server.
  void Respond(const OrderedJson& question, const std::string& result) {
    server_->Receive(absl::StrCat(R"({"jsonrpc":"2.0","id":)",
                                  SerializeOrdered(question["id"]),
                                  R"(,"result":)", result, "}"),
                     channel_);
  }

  // The text of the next result.
  std::string Text() {
    const OrderedJson result = channel_->Take()["result"];
    EXPECT_EQ(result["isError"], true);
    return result["content"][0]["text"];
  }

  Recorder recorder_{80, 24};
  Terminals terminals_{NoServer(), &recorder_};
  Tools tools_{&terminals_, &recorder_};
  std::shared_ptr<Messages> channel_ = std::make_shared<Messages>();
  std::unique_ptr<ToolGate> gate_;
  std::unique_ptr<McpServer> server_;
};

constexpr char kCanAsk[] = R"({"elicitation":{}})";
constexpr char kRan[] = "Error: no server listens at";

TEST_F(GatedCallsTest, RunsWhatARuleAllows) {
  Make("otherwise: ALLOW");
  Run();
  EXPECT_THAT(Text(), StartsWith(kRan));
}

TEST_F(GatedCallsTest, SaysWhyARuleRefusesACall) {
  Make("otherwise: DENY");
  Run();
  EXPECT_EQ(Text(), "Error: not run: a rule of the user forbids it");
  Make(R"(rule { decision: DENY program: "make" reason: "use ninja" })");
  Run();
  EXPECT_EQ(Text(), "Error: not run: use ninja");
}

TEST_F(GatedCallsTest, RefusesWhatNobodyCanBeAskedAbout) {
  Make("otherwise: ASK");
  for (const char* capabilities :
       {"{}", R"({"elicitation":{"url":{}}})", "5"}) {
    Initialize(capabilities);
    Run();
    EXPECT_THAT(Text(), HasSubstr("this MCP client cannot ask"));
  }
}

TEST_F(GatedCallsTest, AsksTheUserOfASession) {
  Make(R"(rule { decision: ASK program: "make" reason: "slow" })");
  for (const char* capabilities :
       {kCanAsk, R"({"elicitation":{"form":{},"url":{}}})"}) {
    Initialize(capabilities);
    Run();
    const OrderedJson question = channel_->Take();
    EXPECT_EQ(question["method"], "elicitation/create");
    EXPECT_EQ(question["params"]["message"],
              "May the agent run this in the sandbox?\n\nmake\n(slow)");
    Respond(question, R"({"action":"accept"})");
    EXPECT_THAT(Text(), StartsWith(kRan));
  }
  Run();
  Respond(channel_->Take(), R"({"action":"decline"})");
  EXPECT_EQ(Text(), "Error: not run: the user does not allow it");
}

TEST_F(GatedCallsTest, RemembersWhatTheUserAllowsForTheSession) {
  Make("otherwise: ASK");
  Initialize(kCanAsk);
  Run();
  Respond(channel_->Take(),
          R"({"action":"accept","content":{"remember":true}})");
  EXPECT_THAT(Text(), StartsWith(kRan));
  Run();
  EXPECT_THAT(Text(), StartsWith(kRan));
}

TEST_F(GatedCallsTest, AsksOnceWhetherItMayTypeIntoAShell) {
  Make("otherwise: ASK");
  Initialize(kCanAsk);
  const char* const type = R"({"name":"type","arguments":{"text":"x"}})";
  Send("tools/call", type);
  const OrderedJson question = channel_->Take();
  EXPECT_THAT(question["params"]["message"].get<std::string>(),
              HasSubstr("May the agent type into /bin/bash"));
  Respond(question, R"({"action":"accept"})");
  EXPECT_THAT(Text(), StartsWith(kRan));
  Send("tools/call", type);
  EXPECT_THAT(Text(), StartsWith(kRan));
}

TEST_F(GatedCallsTest, NamesTheShellThatASessionWouldRun) {
  Make("otherwise: ASK");
  Initialize(kCanAsk);
  Send("tools/call",
       R"({"name":"createSession","arguments":{"shell":"/bin/zsh"}})");
  EXPECT_EQ(channel_->Take()["params"]["message"],
            "May the agent run this in the sandbox?\n\n/bin/zsh");
}

constexpr char kStatelessMeta[] =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}})";

// The members of a repeated call that bring an answer to `demand`.
std::string Answered(const OrderedJson& demand, const std::string& action) {
  return absl::StrCat(",", kStatelessMeta, R"(,"requestState":)",
                      SerializeOrdered(demand["requestState"]),
                      R"(,"inputResponses":{"approval":{"action":")", action,
                      R"("}})");
}

TEST_F(GatedCallsTest, TakesTheAnswerOfAStatelessCallForThatCallOnly) {
  Make("otherwise: ASK");
  Run(absl::StrCat(",", kStatelessMeta));
  const OrderedJson demand = channel_->Take()["result"];
  Send("tools/call",
       absl::StrCat(R"({"name":"run","arguments":{"command":"rm"})",
                    Answered(demand, "accept"), "}"));
  EXPECT_EQ(channel_->Take()["result"]["resultType"], "input_required");
  Run(Answered(demand, "decline"));
  EXPECT_EQ(Text(), "Error: not run: the user does not allow it");
  // An answer counts once.
  Run(Answered(demand, "accept"));
  EXPECT_EQ(channel_->Take()["result"]["resultType"], "input_required");
}

TEST_F(GatedCallsTest, AsksBeforeEachStatelessCallThatTypes) {
  Make("otherwise: ASK");
  const std::string type = R"({"name":"type","arguments":{"text":"x"})";
  const std::string first = absl::StrCat(type, ",", kStatelessMeta, "}");
  Send("tools/call", first);
  const OrderedJson demand = channel_->Take()["result"];
  Send("tools/call", absl::StrCat(type, Answered(demand, "accept"), "}"));
  EXPECT_THAT(Text(), StartsWith(kRan));
  Send("tools/call", first);
  EXPECT_EQ(channel_->Take()["result"]["resultType"], "input_required");
}

TEST_F(GatedCallsTest, DemandsTheAnswerWithAStatelessCall) {
  Make("otherwise: ASK");
  const std::string meta = absl::StrCat(",", kStatelessMeta);
  Run(meta);
  const OrderedJson demand = channel_->Take()["result"];
  EXPECT_EQ(demand["resultType"], "input_required");
  Run(absl::StrCat(meta, R"(,"requestState":)",
                   SerializeOrdered(demand["requestState"]),
                   R"(,"inputResponses":{"approval":{"action":"accept"}})"));
  EXPECT_THAT(Text(), StartsWith(kRan));
  Run(R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientCapabilities":{}})");
  EXPECT_THAT(Text(), HasSubstr("this MCP client cannot ask"));
}

TEST_F(GatedCallsTest, RunsNothingThatCannotBeWrittenDown) {
  Make("otherwise: ALLOW", "/dev/full");
  Run();
  EXPECT_EQ(Text(), "Error: not run: the audit log cannot be written");
}

TEST_F(GatedCallsTest, WritesWhoDecided) {
  const std::string audit = ::testing::TempDir() + "/audit.jsonl";
  Make("otherwise: ASK", audit);
  Run();
  Text();
  Initialize(kCanAsk);
  Run();
  Respond(channel_->Take(), R"({"action":"decline"})");
  Text();
  Run();
  Respond(channel_->Take(),
          R"({"action":"accept","content":{"remember":true}})");
  Text();
  Run();
  Text();
  const std::string log = tests::ReadFile(audit);
  for (const char* by :
       {R"("allowed":false,"by":"no way to ask")",
        R"("allowed":false,"by":"user")", R"("allowed":true,"by":"user")",
        R"("allowed":true,"by":"user, for the session")"}) {
    EXPECT_THAT(log, HasSubstr(by));
  }
}

TEST_F(GatedCallsTest, RefusesACallWhenTooManyQuestionsWait) {
  Make("otherwise: ASK");
  Initialize(kCanAsk);
  for (size_t i = 0; i < Waits::kMaxWaits; ++i) {
    Run();
    EXPECT_EQ(channel_->Take()["method"], "elicitation/create");
  }
  Run();
  EXPECT_EQ(Text(), "Error: not run: too many calls wait already");
}

// A server of MCP with shells that run each line, and write marks as bash does.
class WaitingCallsTest : public ::testing::Test {
 protected:
  static TerminalsOptions Options(const std::string& server) {
    TerminalsOptions options;
    options.sandbox.server.server = server;
    options.shell.shell = "sh";
    return options;
  }

  void Call(size_t id, const std::string& tool, const std::string& arguments) {
    server_.Receive(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id,
                                 R"(,"method":"tools/call","params":{"name":")",
                                 tool, R"(","arguments":)", arguments, "}}"),
                    channel_);
  }

  const std::string audit_ = ::testing::TempDir() + "/calls.jsonl";
  tests::FakeServer fake_{[](tests::FakeExecution& shell) {
    while (!shell.ReadInput(65536).empty()) {
      shell.Print("\x1b]133;C\x07\x1b]133;D;7\x07");
    }
  }};
  Recorder recorder_{80, 24};
  Terminals terminals_{Options(fake_.address()), &recorder_};
  Tools tools_{&terminals_, &recorder_};
  ToolGate gate_{GateRules(), *AuditLog::Open(audit_), "/bin/bash"};
  std::shared_ptr<Messages> channel_ = std::make_shared<Messages>();
  McpServer server_{&tools_, &gate_};
};

TEST_F(WaitingCallsTest, WriteTheEndOfACommandDown) {
  Call(1, "run", R"({"command":"make"})");
  EXPECT_EQ(channel_->Take()["result"]["structuredContent"]["exitCode"], 7);
  Call(2, "wait", R"({"timeoutMs":0})");
  EXPECT_EQ(channel_->Take()["id"], 2);
  const std::string log = tests::ReadFile(audit_);
  const size_t end = log.find(R"("event":"end")");
  ASSERT_NE(end, log.npos);
  EXPECT_EQ(log.substr(end),
            R"("event":"end","session":"","argv":["/bin/bash","-c","make"],)"
            R"("cwd":"","sandbox":"tenants/default/sandboxes/s1",)"
            R"("execution":"tenants/default/sandboxes/s1/executions/e1",)"
            R"("exit":{"code":7,"cause":"NORMAL"}})"
            "\n");
}

TEST_F(WaitingCallsTest, AreDroppedWhenTheyAreCancelledBeforeTheyBegin) {
  Call(1, "clear", "{}");
  EXPECT_EQ(channel_->Take()["id"], 1);
  // The next call waits for the server, and the others for the call.
  fake_.Stop();
  for (const size_t id : {2, 3, 4}) {
    Call(id, "clear", "{}");
  }
  server_.Receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                  R"("params":{"requestId":3}})",
                  channel_);
  fake_.Start();
  EXPECT_EQ(channel_->Take()["id"], 2);
  EXPECT_EQ(channel_->Take()["id"], 4);
}

TEST_F(WaitingCallsTest, AreRefusedWhenTooManyWait) {
  for (size_t id = 0; id <= Waits::kMaxWaits; ++id) {
    Call(id, "wait", R"({"text":"none","timeoutMs":600000})");
  }
  const OrderedJson refusal = channel_->Take();
  EXPECT_EQ(refusal["id"], Waits::kMaxWaits);
  EXPECT_EQ(refusal["result"]["content"][0]["text"],
            "Error: too many calls wait already");
}

TEST_F(GatedCallsTest, KeepsAQuestionThatIsNotCancelled) {
  Make("otherwise: ASK");
  Initialize(kCanAsk);
  Run();
  const OrderedJson question = channel_->Take();
  for (const char* const other :
       {R"("notifications/initialized","params":{"requestId":7})",
        R"("notifications/cancelled","params":{"requestId":8})",
        R"("notifications/cancelled","params":{"requestId":"7"})"}) {
    server_->Receive(absl::StrCat(R"({"jsonrpc":"2.0","method":)", other, "}"),
                     channel_);
  }
  Respond(question, R"({"action":"accept"})");
  EXPECT_THAT(Text(), StartsWith(kRan));
}

TEST_F(GatedCallsTest, EndsAQuestionWhoseCallIsCancelled) {
  Make("otherwise: ASK");
  Initialize(kCanAsk);
  Run();
  EXPECT_EQ(channel_->Take()["method"], "elicitation/create");
  server_->Receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                   R"("params":{"requestId":7}})",
                   channel_);
  EXPECT_EQ(channel_->Take()["method"], "notifications/cancelled");
  Send("ping", "{}");
  EXPECT_EQ(channel_->Take()["result"], OrderedJson::object());
}

}  // namespace
}  // namespace bridge

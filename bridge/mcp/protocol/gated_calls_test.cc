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

TEST_F(GatedCallsTest, DemandsTheAnswerWithAStatelessCall) {
  Make("otherwise: ASK");
  const std::string meta =
      R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}})";
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

TEST(WaitingCallsTest, AreRefusedWhenTooManyWait) {
  tests::FakeServer fake([](tests::FakeExecution& shell) { shell.Hang(); });
  TerminalsOptions options;
  options.sandbox.server.server = fake.address();
  options.shell.shell = "sh";
  Recorder recorder(80, 24);
  Terminals terminals(options, &recorder);
  Tools tools(&terminals, &recorder);
  ToolGate gate(GateRules(), AuditLog(), "/bin/bash");
  const auto channel = std::make_shared<Messages>();
  McpServer server(&tools, &gate);
  for (size_t id = 0; id <= Waits::kMaxWaits; ++id) {
    server.Receive(
        absl::StrCat(R"({"jsonrpc":"2.0","id":)", id,
                     R"(,"method":"tools/call","params":{"name":"wait",)"
                     R"("arguments":{"text":"none","timeoutMs":600000}}})"),
        channel);
  }
  const OrderedJson refusal = channel->Take();
  EXPECT_EQ(refusal["id"], Waits::kMaxWaits);
  EXPECT_EQ(refusal["result"]["content"][0]["text"],
            "Error: too many calls wait already");
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

// Calls that the rules of the user decide about.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/protocol/gated_calls_fixture.h"
#include "bridge/mcp/protocol/waits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  Make(R"(rule { decision: ASK reason: "careful" })");
  Initialize(kCanAsk);
  const char* const type = R"({"name":"type","arguments":{"text":"x"}})";
  Send("tools/call", type);
  const OrderedJson question = channel_->Take();
  EXPECT_EQ(question["params"]["message"],
            "May the agent type into /bin/bash in the sandbox? It can then run "
            "any command there.\n(careful)");
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

TEST_F(GatedCallsTest, RefusesACallWhoseQuestionStaysWithoutAnAnswer) {
  // Each look at the clock takes a minute.
  now_ = [minutes = std::make_shared<std::atomic<int>>(0)] {
    return Waits::Clock::time_point(std::chrono::minutes(++*minutes));
  };
  const std::string audit = ::testing::TempDir() + "/unanswered.jsonl";
  Make("otherwise: ASK", audit);
  Initialize(kCanAsk);
  Run(R"(,"_meta":{"progressToken":"p"})");
  EXPECT_EQ(channel_->Take()["method"], "elicitation/create");
  OrderedJson next = channel_->Take();
  EXPECT_EQ(next["params"]["progressToken"], "p");
  while (next["method"] == "notifications/progress") {
    next = channel_->Take();
  }
  EXPECT_EQ(next["method"], "notifications/cancelled");
  EXPECT_EQ(Text(), "Error: not run: the user did not answer");
  EXPECT_THAT(tests::ReadFile(audit),
              HasSubstr(R"("allowed":false,"by":"no answer of the user")"));
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

TEST_F(GatedCallsTest, WritesThatTheQuestionOfACancelledCallWasNotAnswered) {
  const std::string audit = ::testing::TempDir() + "/cancelled.jsonl";
  Make("otherwise: ASK", audit);
  Initialize(kCanAsk);
  Run();
  EXPECT_EQ(channel_->Take()["method"], "elicitation/create");
  server_->Receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                   R"("params":{"requestId":7}})",
                   channel_);
  // Its end awaits that of the question.
  server_.reset();
  EXPECT_THAT(tests::ReadFile(audit),
              HasSubstr(R"("decision":"ASK","allowed":false,)"
                        R"("by":"no answer of the user"})"));
}

}  // namespace
}  // namespace bridge

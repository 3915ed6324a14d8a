#include "bridge/acp/gate/gate.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GateTest : public ::testing::Test {
 protected:
  // Nothing: the user is asked; last_ is set later.
  std::optional<Gate::Verdict> Decide(const std::string& program,
                                      const std::string& session = "s") {
    last_.reset();
    question_ = gate_.Decide({session, {program, "x"}, {}, "/w"},
                             [this](const Gate::Verdict& v) { last_ = v; });
    return last_;
  }

  // Answers the last question with this outcome.
  void Answer(const Json& outcome) {
    const Json request = Sent();
    const std::string line = Serialize(
        Json{{"id", request["id"]}, {"result", {{"outcome", outcome}}}});
    EXPECT_TRUE(requests_.OnResponse(Message::Classify(line)));
  }
  void Select(const std::string& option) {
    Answer({{"outcome", "selected"}, {"optionId", option}});
  }

  Json Sent() {
    EXPECT_FALSE(sent_.empty());
    const Json message =
        ParseJson(sent_.empty() ? "null" : sent_.front()).value_or(nullptr);
    sent_.pop_front();
    return message;
  }

  std::deque<std::string> sent_;
  std::optional<Gate::Verdict> last_;
  uint64_t question_ = 0;
  const std::string audit_file_ = ::testing::TempDir() + "/audit.jsonl";
  AuditLog audit_ = *AuditLog::Open(audit_file_);
  OwnRequests requests_{[this](std::string line) { sent_.push_back(line); }};
  Gate gate_{*GateRules::Parse(
                 "rules",
                 R"(rule { decision: DENY program: "rm" reason: "not that" }
                    rule { decision: ASK program: "curl" reason: "net" })"),
             &requests_, &audit_,
             [this](std::string line) { sent_.push_back(line); }};
};

TEST_F(GateTest, AllowsAndDeniesAtOnce) {
  EXPECT_TRUE(Decide("ls")->allowed);
  const auto denied = Decide("rm");
  EXPECT_FALSE(denied->allowed);
  EXPECT_EQ(denied->reason, "not that");
  EXPECT_EQ(denied->by, "rule 1");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(GateTest, ShowsTheUserTheRealCommand) {
  EXPECT_FALSE(Decide("curl").has_value());
  const Json request = ParseJson(sent_.front()).value_or(nullptr);
  EXPECT_EQ(request["method"], "session/request_permission");
  const Json& params = request["params"];
  EXPECT_EQ(params["sessionId"], "s");
  EXPECT_EQ(params["toolCall"]["title"], "curl x");
  EXPECT_EQ(params["toolCall"]["kind"], "execute");
  EXPECT_EQ(
      params["toolCall"]["rawInput"],
      (Json{{"command", {"curl", "x"}}, {"cwd", "/w"}, {"reason", "net"}}));
  EXPECT_EQ(params["toolCall"]["status"], "pending");
  std::vector<std::string> options;
  for (const Json& option : params["options"]) {
    EXPECT_EQ(option["kind"], option["optionId"]);
    options.push_back(option["optionId"].get<std::string>());
  }
  EXPECT_THAT(options, ElementsAre("allow_once", "allow_always", "reject_once",
                                   "reject_always"));
  Select("allow_once");
  EXPECT_TRUE(last_->allowed);
  const Json card = Sent();
  EXPECT_EQ(card["params"]["sessionId"], "s");
  EXPECT_EQ(card["params"]["update"]["toolCallId"],
            params["toolCall"]["toolCallId"]);
  EXPECT_EQ(card["params"]["update"]["status"], "completed");
}

TEST_F(GateTest, ShowsTheUserTheLineOfAShell) {
  gate_.Decide({"s", {"curl", "x"}, {}, "/w"}, [](const Gate::Verdict&) {});
  const Json words = Sent();
  EXPECT_EQ(words["params"]["toolCall"]["title"], "curl x");
  EXPECT_EQ(words["params"]["toolCall"]["toolCallId"], "corral-gate-1");
  gate_.Decide({"s", {"sh", "-c", "curl x"}, {}, "/w"},
               [](const Gate::Verdict&) {});
  const Json line = Sent();
  EXPECT_EQ(line["params"]["toolCall"]["title"], "curl x");
  EXPECT_EQ(line["params"]["toolCall"]["toolCallId"], "corral-gate-2");
  EXPECT_EQ(line["params"]["options"][0], (Json{{"optionId", "allow_once"},
                                                {"name", "Run it"},
                                                {"kind", "allow_once"}}));
}

TEST_F(GateTest, SaysWhyACommandDoesNotRun) {
  Gate strict(*GateRules::Parse("rules", "otherwise: DENY"), &requests_,
              &audit_, [](const std::string&) {});
  strict.Decide({"s", {"ls"}, {}, "/w"}, [](const Gate::Verdict& verdict) {
    EXPECT_EQ(verdict.reason, "a rule of the user forbids it");
  });
  Decide("curl");
  Answer(nullptr);
  EXPECT_EQ(last_->reason, "the user did not answer");
  EXPECT_EQ(last_->by, "no answer of the user");
  Sent();
  Decide("curl");
  Select("reject_once");
  EXPECT_EQ(last_->reason, "the user does not allow it");
  EXPECT_EQ(last_->by, "user");
}

TEST_F(GateTest, AsksAgainUnlessTheUserDecidedForTheSession) {
  Decide("curl");
  Select("allow_once");
  Sent();
  EXPECT_FALSE(Decide("curl").has_value());
  Select("allow_always");
  Sent();
  EXPECT_TRUE(Decide("curl")->allowed);
  EXPECT_EQ(last_->by, "user, for the session");
  // Another session is asked for itself.
  EXPECT_FALSE(Decide("curl", "t").has_value());
  Select("reject_always");
  Sent();
  EXPECT_FALSE(Decide("curl", "t")->allowed);
  gate_.CloseSession("t");
  EXPECT_FALSE(Decide("curl", "t").has_value());
}

TEST_F(GateTest, ForgetsNoRejectionDuringTheSession) {
  Decide("curl");
  Select("reject_always");
  Sent();
  gate_.CloseSession("other");
  EXPECT_FALSE(Decide("curl")->allowed);
  EXPECT_EQ(last_->by, "user, for the session");
  EXPECT_EQ(last_->reason, "the user does not allow it");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(GateTest, RemembersWordsAndDirectoryOfACommand) {
  const auto asks = [this](const std::vector<std::string>& argv,
                           const std::string& directory) {
    return gate_.Decide({"s", argv, {}, directory},
                        [](const Gate::Verdict&) {}) != 0;
  };
  EXPECT_TRUE(asks({"curl", "a b"}, "/w"));
  Select("allow_always");
  Sent();
  EXPECT_FALSE(asks({"curl", "a b"}, "/w"));
  EXPECT_TRUE(asks({"curl", "a b"}, "/other"));
  EXPECT_TRUE(asks({"curl", "a", "b"}, "/w"));
  EXPECT_TRUE(asks({"curl", "a"}, "/w"));
}

TEST_F(GateTest, GivesNoReasonThatTheRulesDoNotGive) {
  Gate gate(*GateRules::Parse("rules", "otherwise: ASK"), &requests_, &audit_,
            [](const std::string&) {});
  gate.Decide({"s", {"ls"}, {}, "/w"}, [](const Gate::Verdict&) {});
  EXPECT_EQ(Sent()["params"]["toolCall"]["rawInput"],
            (Json{{"command", {"ls"}}, {"cwd", "/w"}}));
}

TEST_F(GateTest, RunsNothingWithoutAnAnswer) {
  for (const Json& outcome :
       {Json{{"outcome", "cancelled"}}, Json(nullptr),
        Json{{"outcome", "selected"}, {"optionId", "reject_once"}},
        Json{{"outcome", "selected"}, {"optionId", 1}}}) {
    last_.reset();
    EXPECT_FALSE(Decide("curl").has_value());
    Answer(outcome);
    EXPECT_FALSE(last_->allowed);
    EXPECT_EQ(Sent()["params"]["update"]["status"], "failed");
  }
}

TEST_F(GateTest, WithdrawsAQuestion) {
  Decide("curl");
  const Json request = Sent();
  gate_.Withdraw(question_);
  EXPECT_EQ(Sent()["method"], "$/cancel_request");
  EXPECT_EQ(Sent()["params"]["update"]["status"], "failed");
  EXPECT_FALSE(last_.has_value());
}

TEST_F(GateTest, WritesThatAWithdrawnQuestionWasNotAnswered) {
  Decide("curl", "withdrawn");
  gate_.Withdraw(question_);
  EXPECT_THAT(tests::ReadFile(audit_file_),
              HasSubstr(R"("session":"withdrawn","argv":["curl","x"],)"
                        R"("cwd":"/w","decision":"ASK","allowed":false,)"
                        R"("by":"no answer of the user"})"));
}

TEST_F(GateTest, WritesEachDecision) {
  Decide("rm");
  EXPECT_THAT(tests::ReadFile(audit_file_),
              HasSubstr(R"("event":"decision","session":"s","argv":["rm","x"],)"
                        R"("cwd":"/w","decision":"DENY","allowed":false,)"
                        R"("by":"rule 1"})"));
}

TEST_F(GateTest, RunsNothingThatCannotBeWrittenDown) {
  AuditLog full = *AuditLog::Open("/dev/full");
  Gate gate(GateRules(), &requests_, &full, [](const std::string&) {});
  gate.Decide({"s", {"ls"}, {}, "/w"}, [](const Gate::Verdict& verdict) {
    EXPECT_FALSE(verdict.allowed);
    EXPECT_THAT(verdict.reason, HasSubstr("/dev/full"));
  });
}

}  // namespace
}  // namespace bridge

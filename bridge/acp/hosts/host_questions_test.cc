#include "bridge/acp/hosts/host_questions.h"

#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/hosts/fake_host_calls.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class HostQuestionsTest : public ::testing::Test {
 protected:
  ~HostQuestionsTest() override { EXPECT_THAT(sent_, IsEmpty()); }

  Json Sent() {
    EXPECT_FALSE(sent_.empty());
    const Json message =
        ParseJson(sent_.empty() ? "null" : sent_.front()).value_or(nullptr);
    if (!sent_.empty()) {
      sent_.pop_front();
    }
    return message;
  }
  // Takes the next question, and returns the host that it names.
  std::string Asked() {
    question_ = Sent();
    EXPECT_EQ(question_["method"], "session/request_permission");
    return question_["params"]["toolCall"]["rawInput"]["host"];
  }
  // Answers the last question with these members of a response.
  void Respond(Json members) {
    members["id"] = question_["id"];
    const std::string line = Serialize(members);
    EXPECT_TRUE(requests_.OnResponse(Message::Classify(line)));
  }
  void Select(const std::string& option) {
    Respond({{"result",
              {{"outcome", {{"outcome", "selected"}, {"optionId", option}}}}}});
  }
  // Takes the end of the last question's card, and returns its status and the
  // reason that it shows.
  std::string CardEnd() {
    const Json card = Sent();
    EXPECT_EQ(card["method"], "session/update");
    EXPECT_EQ(card["params"]["sessionId"], question_["params"]["sessionId"]);
    const Json& update = card["params"]["update"];
    EXPECT_EQ(update["sessionUpdate"], "tool_call_update");
    EXPECT_EQ(update["toolCallId"],
              question_["params"]["toolCall"]["toolCallId"]);
    std::string end = update["status"];
    if (update.contains("content")) {
      EXPECT_EQ(update["content"][0]["type"], "content");
      EXPECT_EQ(update["content"][0]["content"]["type"], "text");
      absl::StrAppend(
          &end, ": ",
          update["content"][0]["content"]["text"].get<std::string>());
    }
    return end;
  }
  void AnswerAllow(const absl::Status& status) {
    auto allow = std::move(fake_.allows.front());
    fake_.allows.pop_front();
    if (status.ok()) {
      allow.done(corral::v1::Sandbox());
    } else {
      allow.done(status);
    }
  }

  const std::string audit_file_ =
      ::testing::TempDir() + "/" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  AuditLog audit_ = *AuditLog::Open(audit_file_);
  FakeHostCalls fake_;
  HostCalls calls_ = fake_.Calls();
  std::deque<std::string> sent_;
  Json question_;
  OwnRequests requests_{[this](std::string line) { sent_.push_back(line); }};
  HostQuestions questions_{&calls_, &requests_, &audit_,
                           [this](std::string line) { sent_.push_back(line); }};
};

TEST_F(HostQuestionsTest, ShowsTheUserTheNameAndWhatItCanBeReachedFor) {
  const std::string longest(70, 'a');
  questions_.OnRefused("s", "box", longest);
  EXPECT_EQ(Asked(), longest);
  const Json& params = question_["params"];
  EXPECT_EQ(params["sessionId"], "s");
  EXPECT_EQ(
      params["toolCall"],
      (Json{{"toolCallId", "corral-host-1"},
            {"title", absl::StrCat("Reach the host ...", std::string(61, 'a'))},
            {"kind", "fetch"},
            {"status", "pending"},
            {"rawInput", {{"host", longest}, {"ports", {80, 443}}}}}));
  ASSERT_THAT(params["options"], SizeIs(2));
  EXPECT_EQ(params["options"][0]["optionId"], "allow_always");
  EXPECT_EQ(params["options"][0]["name"], "Allow this host in this session");
  EXPECT_EQ(params["options"][1]["optionId"], "reject_always");
  EXPECT_EQ(params["options"][1]["name"], "Refuse this host in this session");
}

TEST_F(HostQuestionsTest, AllowsAHostInTheSandboxThatRefusedIt) {
  questions_.OnRefused("s", "box", "A.example.");
  EXPECT_EQ(Asked(), "a.example");
  EXPECT_THAT(fake_.allows, IsEmpty());
  Select("allow_always");
  ASSERT_THAT(fake_.allows, SizeIs(1));
  EXPECT_EQ(fake_.allows[0].request.ShortDebugString(),
            "name: \"box\" egress_rules { host: \"a.example\" }");
  // The card shows that the host can be reached.
  EXPECT_THAT(sent_, IsEmpty());
  AnswerAllow(absl::OkStatus());
  EXPECT_EQ(CardEnd(), "completed");
  EXPECT_THAT(tests::ReadFile(audit_file_),
              HasSubstr(R"("event":"host","session":"s","sandbox":"box",)"
                        R"("host":"a.example","allowed":true,"by":"user"})"));
}

TEST_F(HostQuestionsTest, KeepsARefusalInMind) {
  questions_.OnRefused("s", "box", "a.example");
  Asked();
  Select("reject_always");
  EXPECT_EQ(CardEnd(), "failed");
  questions_.OnRefused("s", "box", "a.example");
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(fake_.allows, IsEmpty());
  EXPECT_THAT(tests::ReadFile(audit_file_),
              HasSubstr(R"("allowed":false,"by":"user"})"));
  // Another session is asked for itself.
  questions_.OnRefused("t", "box", "a.example");
  EXPECT_EQ(Asked(), "a.example");
}

TEST_F(HostQuestionsTest, AllowsAHostAgainInANewSandboxOfTheSession) {
  questions_.OnRefused("s", "box", "a.example");
  Asked();
  Select("allow_always");
  AnswerAllow(absl::OkStatus());
  CardEnd();
  questions_.OnRefused("s", "next", "a.example");
  ASSERT_THAT(fake_.allows, SizeIs(1));
  EXPECT_EQ(fake_.allows[0].request.name(), "next");
  AnswerAllow(absl::OkStatus());
}

TEST_F(HostQuestionsTest, AsksOneQuestionAtATimeInEachSession) {
  questions_.OnRefused("s", "box", "a.example");
  EXPECT_EQ(Asked(), "a.example");
  const Json first = question_;
  questions_.OnRefused("s", "box", "b.example");
  questions_.OnRefused("s", "box", "a.example");
  questions_.OnRefused("s", "box", "B.example.");
  EXPECT_THAT(sent_, IsEmpty());
  questions_.OnRefused("t", "other", "c.example");
  EXPECT_EQ(Asked(), "c.example");
  question_ = first;
  Select("reject_always");
  EXPECT_EQ(CardEnd(), "failed");
  EXPECT_EQ(Asked(), "b.example");
  EXPECT_EQ(question_["params"]["toolCall"]["toolCallId"], "corral-host-3");
  Select("reject_always");
  EXPECT_EQ(CardEnd(), "failed");
}

TEST_F(HostQuestionsTest, DoesNotAskAboutWhatIsNoPlainName) {
  questions_.OnRefused("s", "box", "*.example");
  questions_.OnRefused("s", "box", "");
}

TEST_F(HostQuestionsTest, AsksLaterAboutNamesAboveTheLimitOfWaitingOnes) {
  for (size_t i = 0; i <= HostQuestions::kMaxWaiting; ++i) {
    questions_.OnRefused("s", "box", absl::StrCat("h", i));
  }
  for (size_t i = 0; i < HostQuestions::kMaxWaiting; ++i) {
    EXPECT_EQ(Asked(), absl::StrCat("h", i));
    Select("reject_always");
    CardEnd();
  }
  EXPECT_THAT(sent_, IsEmpty());
  const std::string last = absl::StrCat("h", HostQuestions::kMaxWaiting);
  questions_.OnRefused("s", "box", last);
  EXPECT_EQ(Asked(), last);
}

TEST_F(HostQuestionsTest, AsksNoMoreWhenTheSessionHasEnoughAnswers) {
  for (size_t i = 0; i + 1 < HostQuestions::kMaxAnswers; ++i) {
    questions_.OnRefused("s", "box", absl::StrCat("h", i));
    Asked();
    Select("reject_always");
    CardEnd();
  }
  questions_.OnRefused("s", "box", "last");
  EXPECT_EQ(Asked(), "last");
  questions_.OnRefused("s", "box", "beyond");
  Select("reject_always");
  CardEnd();
  questions_.OnRefused("s", "box", "beyond");
}

TEST_F(HostQuestionsTest, TakesAnErrorForARefusal) {
  questions_.OnRefused("s", "box", "a.example");
  Asked();
  Respond({{"error", {{"code", -32601}, {"message", "Method not found"}}}});
  EXPECT_EQ(CardEnd(), "failed");
  questions_.OnRefused("s", "box", "a.example");
  EXPECT_THAT(fake_.allows, IsEmpty());
  EXPECT_THAT(tests::ReadFile(audit_file_),
              HasSubstr(R"("allowed":false,"by":"no answer of the user"})"));
}

TEST_F(HostQuestionsTest, AsksAgainWhenTheUserDidNotDecide) {
  for (const Json& outcome :
       {Json{{"outcome", "cancelled"}},
        Json{{"outcome", "selected"}, {"optionId", "allow_once"}},
        Json(nullptr)}) {
    questions_.OnRefused("s", "box", "a.example");
    EXPECT_EQ(Asked(), "a.example");
    Respond({{"result", {{"outcome", outcome}}}});
    EXPECT_EQ(CardEnd(), "failed");
    EXPECT_THAT(fake_.allows, IsEmpty());
  }
}

TEST_F(HostQuestionsTest, DropsTheQuestionsOfACancelledTurn) {
  questions_.OnRefused("s", "box", "a.example");
  questions_.OnRefused("s", "box", "b.example");
  Asked();
  questions_.Cancel("t");
  EXPECT_THAT(sent_, IsEmpty());
  questions_.Cancel("s");
  const Json cancellation = Sent();
  EXPECT_EQ(cancellation["method"], "$/cancel_request");
  EXPECT_EQ(cancellation["params"]["requestId"], question_["id"]);
  EXPECT_EQ(CardEnd(), "failed");
  // The client answers a cancelled question, too, and perhaps wrongly.
  Select("allow_always");
  EXPECT_THAT(fake_.allows, IsEmpty());
  questions_.Cancel("s");
  EXPECT_THAT(sent_, IsEmpty());
  questions_.OnRefused("s", "box", "b.example");
  EXPECT_EQ(Asked(), "b.example");
}

TEST_F(HostQuestionsTest, WritesThatACancelledQuestionWasNotAnswered) {
  questions_.OnRefused("s", "box", "a.example");
  questions_.OnRefused("s", "box", "b.example");
  Asked();
  questions_.Cancel("s");
  Sent();
  CardEnd();
  const std::string log = tests::ReadFile(audit_file_);
  EXPECT_THAT(log, HasSubstr(R"("session":"s","sandbox":"box",)"
                             R"("host":"a.example","allowed":false,)"
                             R"("by":"no answer of the user"})"));
  // The user was not asked about it yet.
  EXPECT_THAT(log, Not(HasSubstr("b.example")));
}

TEST_F(HostQuestionsTest, SaysWhyTheServerDoesNotAllowAHost) {
  questions_.OnRefused("s", "box", "a.example");
  Asked();
  Select("allow_always");
  AnswerAllow(absl::InvalidArgumentError("above the ceiling"));
  EXPECT_EQ(CardEnd(), "failed: above the ceiling");
  // The user is not asked again.
  questions_.OnRefused("s", "box", "a.example");
  ASSERT_THAT(fake_.allows, SizeIs(1));
  AnswerAllow(absl::InvalidArgumentError("above the ceiling"));
}

TEST_F(HostQuestionsTest, BearsAnAnswerAfterTheSandboxIsGone) {
  questions_.OnRefused("s", "box", "a.example");
  Asked();
  Select("allow_always");
  AnswerAllow(absl::NotFoundError("no sandbox \"box\""));
  EXPECT_EQ(CardEnd(), "failed: no sandbox \"box\"");
}

TEST_F(HostQuestionsTest, ForgetsAClosedSession) {
  questions_.OnRefused("s", "box", "a.example");
  Asked();
  Select("allow_always");
  questions_.OnRefused("s", "box", "b.example");
  Asked();
  questions_.CloseSession("s");
  EXPECT_EQ(Sent()["method"], "$/cancel_request");
  EXPECT_EQ(CardEnd(), "failed");
  // The card of a closed session is not touched any more.
  AnswerAllow(absl::OkStatus());
  EXPECT_THAT(sent_, IsEmpty());
  questions_.OnRefused("s", "box", "a.example");
  EXPECT_EQ(Asked(), "a.example");
}

TEST_F(HostQuestionsTest, AllowsNothingThatCannotBeWrittenDown) {
  AuditLog full = *AuditLog::Open("/dev/full");
  HostQuestions questions(&calls_, &requests_, &full, [this](std::string line) {
    sent_.push_back(std::move(line));
  });
  questions.OnRefused("s", "box", "a.example");
  Asked();
  Select("allow_always");
  EXPECT_EQ(CardEnd(), "failed: the audit log /dev/full cannot be written");
  EXPECT_THAT(fake_.allows, IsEmpty());
  questions.OnRefused("s", "box", "a.example");
  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace bridge

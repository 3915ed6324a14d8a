#include "bridge/mcp/protocol/approvals.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/mcp/protocol/reply_channel.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using Answer = Approvals::Answer;

// Answers each question as soon as it is sent.
class AnsweringClient : public ReplyChannel {
 public:
  // `outcome`: the member of the answer that says what became of the question.
  AnsweringClient(Approvals* approvals, std::string outcome)
      : approvals_(approvals), outcome_(std::move(outcome)) {}
  ~AnsweringClient() override { thread_.join(); }

  void Send(const std::string& line) override {
    sent_.push_back(ParseOrderedJson(line).value());
    const std::string answer = R"({"jsonrpc":"2.0","id":)" +
                               SerializeOrdered(sent_.back()["id"]) + "," +
                               outcome_ + "}";
    thread_ = std::thread(
        [this, answer] { approvals_->OnResponse(Message::Classify(answer)); });
  }
  bool IsAbandoned() override { return false; }

  std::vector<OrderedJson> sent_;

 private:
  Approvals* const approvals_;
  const std::string outcome_;
  std::thread thread_;
};

class SilentClient : public ReplyChannel {
 public:
  void Send(const std::string& line) override { sent_.push_back(line); }
  bool IsAbandoned() override { return false; }
  std::vector<std::string> sent_;
};

Answer AnswerToOutcome(const std::string& outcome) {
  Approvals approvals;
  AnsweringClient client(&approvals, outcome);
  const Answer answer = approvals.Ask("May it?", &client, [] { return false; });
  EXPECT_EQ(client.sent_.size(), 1);
  EXPECT_EQ(client.sent_[0]["method"], "elicitation/create");
  const OrderedJson& params = client.sent_[0]["params"];
  EXPECT_EQ(params["message"], "May it?");
  EXPECT_EQ(params["requestedSchema"]["properties"]["remember"]["type"],
            "boolean");
  return answer;
}

Answer AnswerTo(const std::string& result) {
  return AnswerToOutcome(R"("result":)" + result);
}

TEST(Approvals, AskTheUser) {
  EXPECT_EQ(AnswerTo(R"({"action":"accept"})"), Answer::kAllowed);
  EXPECT_EQ(AnswerTo(R"({"action":"accept","content":{"remember":true}})"),
            Answer::kAllowedForSession);
  EXPECT_EQ(AnswerTo(R"({"action":"decline"})"), Answer::kRejected);
  EXPECT_EQ(AnswerTo(R"({"action":"cancel"})"), Answer::kRejected);
}

TEST(Approvals, TakeWhatIsNoAnswerForARefusal) {
  EXPECT_EQ(AnswerTo("5"), Answer::kRejected);
  EXPECT_EQ(AnswerTo(R"({"action":true})"), Answer::kRejected);
  EXPECT_EQ(AnswerTo("{}"), Answer::kRejected);
  EXPECT_EQ(AnswerToOutcome(R"("error":{"code":-32601,"message":"x"})"),
            Answer::kRejected);
  EXPECT_EQ(AnswerTo(R"({"action":"accept","content":5})"), Answer::kAllowed);
  EXPECT_EQ(AnswerTo(R"({"action":"accept","content":{"remember":"yes"}})"),
            Answer::kAllowed);
}

TEST(Approvals, EndWithTheCall) {
  Approvals approvals;
  SilentClient client;
  EXPECT_EQ(approvals.Ask("May it?", &client, [] { return true; }),
            Answer::kNone);
  ASSERT_EQ(client.sent_.size(), 2);
  EXPECT_EQ(client.sent_[1],
            R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
            R"("params":{"requestId":"corral-1"}})"
            "\n");
  // An answer that comes too late.
  approvals.OnResponse(Message::Classify(
      R"({"jsonrpc":"2.0","id":"corral-1","result":{"action":"accept"}})"));
  EXPECT_EQ(approvals.Ask("May it?", &client, [] { return true; }),
            Answer::kNone);
  ASSERT_EQ(client.sent_.size(), 4);
  EXPECT_EQ(ParseOrderedJson(client.sent_[2]).value()["id"], "corral-2");
}

TEST(Approvals, EndAfterTenMinutes) {
  Approvals::Clock::time_point now;
  Approvals approvals([&now] { return now; });
  SilentClient client;
  int looks = 0;
  EXPECT_EQ(approvals.Ask("May it?", &client,
                          [&] {
                            ++looks;
                            now += Approvals::kLongestQuestion / 2;
                            return false;
                          }),
            Answer::kNone);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(client.sent_.size(), 2) << "the question is withdrawn";
}

TEST(Approvals, LetACallBeRepeatedWithItsAnswerOnce) {
  Approvals approvals;
  OrderedJson demand = approvals.Demand("May it?", "run x");
  EXPECT_EQ(demand["inputRequests"]["approval"]["method"],
            "elicitation/create");
  EXPECT_EQ(demand["inputRequests"]["approval"]["params"]["message"],
            "May it?");
  EXPECT_EQ(demand["requestState"].get<std::string>().size(), 32)
      << "nobody can guess it";
  // A call has no session that could remember the answer.
  EXPECT_TRUE(demand["inputRequests"]["approval"]["params"]["requestedSchema"]
                    ["properties"]
                        .empty());
  OrderedJson params = {
      {"requestState", demand["requestState"]},
      {"inputResponses", {{"approval", {{"action", "accept"}}}}}};
  EXPECT_FALSE(approvals.Redeem(params, "run y").has_value());
  EXPECT_EQ(approvals.Redeem(params, "run x"), Answer::kAllowed);
  EXPECT_FALSE(approvals.Redeem(params, "run x").has_value());
}

TEST(Approvals, RefuseAnswersToWhatWasNotAsked) {
  Approvals approvals;
  const OrderedJson answer = {{"approval", {{"action", "accept"}}}};
  EXPECT_FALSE(
      approvals.Redeem({{"inputResponses", answer}}, "run x").has_value());
  EXPECT_FALSE(
      approvals
          .Redeem({{"inputResponses", answer}, {"requestState", "0"}}, "run x")
          .has_value());
}

TEST(Approvals, TakeNoAnswerOfAWrongForm) {
  Approvals approvals;
  const OrderedJson token =
      approvals.Demand("May it?", "run x")["requestState"];
  const OrderedJson answer = {{"approval", {{"action", "accept"}}}};
  const OrderedJson bad[] = {
      {{"inputResponses", answer}, {"requestState", 5}},
      {{"inputResponses", 5}, {"requestState", token}},
      {{"inputResponses", OrderedJson::object()}, {"requestState", token}},
  };
  for (const OrderedJson& params : bad) {
    EXPECT_FALSE(approvals.Redeem(params, "run x").has_value()) << params;
  }
  EXPECT_EQ(approvals.Redeem(
                {{"inputResponses", answer}, {"requestState", token}}, "run x"),
            Answer::kAllowed);
}

TEST(Approvals, ForgetTheOldestDemand) {
  Approvals approvals;
  std::vector<OrderedJson> params;
  for (size_t i = 0; i <= Approvals::kMaxDemands; ++i) {
    params.push_back(
        {{"requestState", approvals.Demand("May it?", "run")["requestState"]},
         {"inputResponses", {{"approval", {{"action", "accept"}}}}}});
  }
  EXPECT_FALSE(approvals.Redeem(params[0], "run").has_value());
  EXPECT_TRUE(approvals.Redeem(params[1], "run").has_value());
}

}  // namespace
}  // namespace bridge

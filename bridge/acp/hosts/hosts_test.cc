#include "bridge/acp/hosts/hosts.h"

#include <deque>
#include <string>

#include "bridge/acp/hosts/fake_host_calls.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class HostsTest : public ::testing::Test {
 protected:
  // The session of the last question.
  std::string AskedIn() {
    if (sent_.empty()) {
      return "none";
    }
    const Json request = ParseJson(sent_.back()).value_or(Json());
    sent_.clear();
    return request["params"]["sessionId"];
  }

  FakeHostCalls fake_;
  std::string current_;
  std::deque<std::string> sent_;
  AuditLog audit_;
  OwnRequests requests_{[this](std::string line) { sent_.push_back(line); }};
  Hosts hosts_{fake_.Calls(), &requests_, &audit_, [](const std::string&) {},
               [this] { return current_; }};
};

TEST_F(HostsTest, AsksInTheSessionOfTheSandbox) {
  hosts_.Follow("s", "box");
  EXPECT_EQ(fake_.lists[0].request.name(), "box");
  current_ = "t";
  fake_.AnswerList(1, {"a.example"});
  EXPECT_EQ(AskedIn(), "s");
}

TEST_F(HostsTest, AsksForASharedSandboxInTheSessionInWhichTheAgentWorks) {
  hosts_.Follow("", "box");
  fake_.AnswerList(1, {"a.example"});
  EXPECT_EQ(AskedIn(), "none");
  current_ = "t";
  fake_.RunTimer();
  fake_.AnswerList(2, {"a.example"});
  EXPECT_EQ(AskedIn(), "t");
}

TEST_F(HostsTest, FollowsTheSandboxThatReplacesAnother) {
  hosts_.Follow("s", "first");
  hosts_.Follow("s", "second");
  ASSERT_THAT(fake_.lists, SizeIs(2));
  fake_.AnswerList(1, {"a.example"});
  EXPECT_EQ(AskedIn(), "none");
  fake_.AnswerList(1, {"a.example"});
  EXPECT_EQ(AskedIn(), "s");
  EXPECT_THAT(fake_.timers, SizeIs(1));
}

TEST_F(HostsTest, DropsTheQuestionOfACancelledTurn) {
  hosts_.Follow("s", "box");
  fake_.AnswerList(1, {"a.example"});
  hosts_.CancelTurn("s");
  EXPECT_EQ(ParseJson(sent_.back()).value_or(Json())["method"],
            "$/cancel_request");
  sent_.clear();
  fake_.RunTimer();
  fake_.AnswerList(2, {"a.example"});
  EXPECT_EQ(AskedIn(), "s");
}

TEST_F(HostsTest, AsksNothingAfterTheEndOfASession) {
  hosts_.Follow("s", "box");
  fake_.AnswerList(1, {"a.example"});
  hosts_.CloseSession("s");
  EXPECT_EQ(ParseJson(sent_.back()).value_or(Json())["method"],
            "$/cancel_request");
  fake_.RunTimer();
  EXPECT_THAT(fake_.lists, IsEmpty());
}

TEST_F(HostsTest, AsksNothingAfterStop) {
  hosts_.Follow("s", "box");
  hosts_.Stop();
  fake_.AnswerList(1, {"a.example"});
  EXPECT_EQ(AskedIn(), "none");
  EXPECT_THAT(fake_.timers, IsEmpty());
}

}  // namespace
}  // namespace bridge

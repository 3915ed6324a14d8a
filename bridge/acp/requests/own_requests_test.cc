#include "bridge/acp/requests/own_requests.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class OwnRequestsTest : public ::testing::Test {
 protected:
  std::string Ask() {
    return requests_.Request("m", {{"a", 1}}, [this](const Message& response) {
      results_.emplace_back(response.result());
    });
  }
  bool Answer(const std::string& id) {
    const std::string line = absl::StrCat(R"({"id":")", id, R"(","result":7})");
    return requests_.OnResponse(Message::Classify(line));
  }

  std::vector<std::string> sent_;
  std::vector<std::string> results_;
  OwnRequests requests_{[this](std::string line) { sent_.push_back(line); }};
};

TEST_F(OwnRequestsTest, RunsWhatWaitsForTheResponse) {
  const std::string id = Ask();
  const Json request = ParseJson(sent_.front()).value_or(Json());
  EXPECT_EQ(request["id"], id);
  EXPECT_EQ(request["method"], "m");
  EXPECT_EQ(request["params"]["a"], 1);
  EXPECT_TRUE(Answer(id));
  EXPECT_THAT(results_, ElementsAre("7"));
}

TEST_F(OwnRequestsTest, LeavesTheResponsesOfOthersAlone) {
  Ask();
  for (const std::string id : {"1", "corral-1", "corral-"}) {
    EXPECT_FALSE(Answer(id)) << id;
  }
}

TEST_F(OwnRequestsTest, SwallowsTheResponseToACancelledRequest) {
  const std::string id = Ask();
  requests_.Cancel(id);
  ASSERT_THAT(sent_, SizeIs(2));
  const Json cancellation = ParseJson(sent_.back()).value_or(Json());
  EXPECT_EQ(cancellation["method"], "$/cancel_request");
  EXPECT_EQ(cancellation["params"]["requestId"], id);
  EXPECT_TRUE(Answer(id));
  EXPECT_THAT(results_, SizeIs(0));
}

TEST_F(OwnRequestsTest, CancelsNothingTwiceOrAfterTheResponse) {
  const std::string cancelled = Ask();
  const std::string answered = Ask();
  requests_.Cancel(cancelled);
  EXPECT_TRUE(Answer(answered));
  sent_.clear();
  requests_.Cancel(cancelled);
  requests_.Cancel(answered);
  EXPECT_THAT(sent_, SizeIs(0));
  EXPECT_TRUE(Answer(answered));
  EXPECT_THAT(results_, SizeIs(1));
}

}  // namespace
}  // namespace bridge

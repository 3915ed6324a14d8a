#include "server/core/connections.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "corral/v1/error_reason.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/runtime/activity.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::IsOk;
using ::tests::StatusIs;

class RecordedCall final : public LastingCall {
 public:
  void Fail(const absl::Status& status) override { failures.push_back(status); }

  std::vector<absl::Status> failures;
};

TEST(ConnectionsTest, EndsThoseThatAreOpenAndRefusesLaterOnes) {
  Connections connections;
  const auto first = std::make_shared<RecordedCall>();
  const auto second = std::make_shared<RecordedCall>();
  auto third = std::make_shared<RecordedCall>();
  ASSERT_THAT(connections.Add(first.get(), first), IsOk());
  ASSERT_THAT(connections.Add(second.get(), second), IsOk());
  ASSERT_THAT(connections.Add(third.get(), third), IsOk());
  connections.Remove(first.get());
  third.reset();
  const absl::Status why = absl::AbortedError("ended");
  connections.EndAll(why);
  EXPECT_THAT(first->failures, IsEmpty());
  EXPECT_THAT(second->failures, ElementsAre(why));
  EXPECT_EQ(connections.Add(first.get(), first), why);
  connections.EndAll(why);
  EXPECT_THAT(first->failures, IsEmpty());
  EXPECT_THAT(second->failures, ElementsAre(why));
}

TEST(ConnectionsTest, AreNoMoreThanTheLimit) {
  Connections connections;
  std::vector<std::shared_ptr<RecordedCall>> calls;
  for (size_t i = 0; i < 1024; ++i) {
    calls.push_back(std::make_shared<RecordedCall>());
    ASSERT_THAT(connections.Add(calls.back().get(), calls.back()), IsOk());
  }
  const auto last = std::make_shared<RecordedCall>();
  const absl::Status refused = connections.Add(last.get(), last);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("1024 connections")));
  EXPECT_EQ(ReasonOf(refused), corral::v1::TOO_MANY_CONNECTIONS);
  connections.Remove(calls.front().get());
  EXPECT_THAT(connections.Add(last.get(), last), IsOk());
}

}  // namespace
}  // namespace server

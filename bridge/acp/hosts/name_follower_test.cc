#include "bridge/acp/hosts/name_follower.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/acp/hosts/fake_host_calls.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NameFollowerTest : public ::testing::Test {
 protected:
  void FailList(const absl::Status& status) {
    auto list = std::move(fake_.lists.front());
    fake_.lists.pop_front();
    list.done(status);
  }

  FakeHostCalls fake_;
  HostCalls calls_ = fake_.Calls();
  std::vector<std::string> names_;
  std::unique_ptr<NameFollower> follower_ = std::make_unique<NameFollower>(
      &calls_, "box",
      [this](const std::string& name) { names_.push_back(name); });
};

TEST_F(NameFollowerTest, AsksForEventsAfterTheLastOneTwiceASecond) {
  ASSERT_THAT(fake_.lists, SizeIs(1));
  EXPECT_EQ(fake_.lists[0].request.name(), "box");
  EXPECT_EQ(fake_.lists[0].request.after(), 0u);
  EXPECT_EQ(fake_.lists[0].request.page_size(), 1000);
  fake_.AnswerList(3, {"a.example", "b.example"});
  EXPECT_THAT(names_, ElementsAre("a.example", "b.example"));
  EXPECT_THAT(fake_.lists, IsEmpty());
  ASSERT_THAT(fake_.timers, SizeIs(1));
  EXPECT_EQ(fake_.timers[0].delay, absl::Milliseconds(500));
  fake_.RunTimer();
  ASSERT_THAT(fake_.lists, SizeIs(1));
  EXPECT_EQ(fake_.lists[0].request.after(), 4u);
  fake_.AnswerList(0, {});
  fake_.RunTimer();
  EXPECT_EQ(fake_.lists[0].request.after(), 4u);
}

TEST_F(NameFollowerTest, ReportsNothingButRefusedNames) {
  corral::v1::ListNetworkEventsResponse page;
  page.add_events()->set_kind(corral::v1::NetworkEvent::CONNECTION_REFUSED);
  page.add_events()->set_kind(corral::v1::NetworkEvent::CONNECTION_ENDED);
  page.mutable_events(1)->set_number(7);
  fake_.lists[0].done(page);
  EXPECT_THAT(names_, IsEmpty());
  fake_.RunTimer();
  EXPECT_EQ(fake_.lists[1].request.after(), 7u);
}

TEST_F(NameFollowerTest, GoesOnAfterAFailureOfTheServer) {
  FailList(absl::UnavailableError("gone"));
  ASSERT_THAT(fake_.timers, SizeIs(1));
  EXPECT_EQ(fake_.timers[0].delay, absl::Milliseconds(500));
  fake_.RunTimer();
  fake_.AnswerList(1, {"a.example"});
  EXPECT_THAT(names_, ElementsAre("a.example"));
}

TEST_F(NameFollowerTest, EndsWithTheSandbox) {
  FailList(absl::NotFoundError("no such sandbox"));
  EXPECT_THAT(fake_.timers, IsEmpty());
}

TEST_F(NameFollowerTest, DoesNothingAfterItsDestruction) {
  fake_.AnswerList(1, {});
  follower_.reset();
  fake_.RunTimer();
  EXPECT_THAT(fake_.lists, IsEmpty());
  follower_ = std::make_unique<NameFollower>(
      &calls_, "box",
      [this](const std::string& name) { names_.push_back(name); });
  follower_.reset();
  fake_.AnswerList(1, {"a.example"});
  EXPECT_THAT(names_, IsEmpty());
  EXPECT_THAT(fake_.timers, IsEmpty());
}

}  // namespace
}  // namespace bridge

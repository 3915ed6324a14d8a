#include "sandbox/egress/journal.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

using Event = ::corral::egress::v1::Event;

Event Refusal(const std::string& host) {
  Event event;
  event.set_kind(Event::NAME_REFUSED);
  event.set_reason(Event::NAME_NOT_ALLOWED);
  event.set_host(host);
  return event;
}

class JournalTest : public ::testing::Test {
 protected:
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  bool takes_ = true;
  std::vector<Event> events_;
  Journal journal_{[this](const Event& event) {
                     if (takes_) {
                       events_.push_back(event);
                     }
                     return takes_;
                   },
                   [this] { return now_; }};
};

TEST_F(JournalTest, PassesEventsOnWithTheirTime) {
  journal_.Report(Refusal("a.com"));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].host(), "a.com");
  EXPECT_EQ(events_[0].time_ns(), 3600'000'000'000);
}

TEST_F(JournalTest, LeavesRepetitionsOutAndCountsThem) {
  for (int i = 0; i < 5; ++i) {
    journal_.Report(Refusal("a.com"));
  }
  journal_.Report(Refusal("b.com"));
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(events_[1].left_out(), 4U);
  now_ += Journal::kRepetition;
  journal_.Report(Refusal("a.com"));
  ASSERT_EQ(events_.size(), 3U);
  EXPECT_EQ(events_[2].left_out(), 0U);
}

TEST_F(JournalTest, HoldsAFloodOfRefusalsBackButNotTheEndsOfConnections) {
  for (int i = 0; i < 10'000; ++i) {
    journal_.Report(Refusal(absl::StrCat("n", i, ".com")));
  }
  EXPECT_EQ(events_.size(), static_cast<size_t>(Journal::kBurst));
  Event end;
  end.set_kind(Event::CONNECTION_ENDED);
  journal_.Report(end);
  EXPECT_EQ(events_.back().kind(), Event::CONNECTION_ENDED);
  EXPECT_EQ(events_.back().left_out(), 10'000 - Journal::kBurst);
}

TEST_F(JournalTest, CountsEventsThatNobodyTook) {
  takes_ = false;
  journal_.Report(Refusal("a.com"));
  takes_ = true;
  journal_.Report(Refusal("b.com"));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].left_out(), 1U);
}

}  // namespace
}  // namespace egress

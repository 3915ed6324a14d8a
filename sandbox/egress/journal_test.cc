#include "sandbox/egress/journal.h"

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

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

TEST_F(JournalTest, ComparesAllThatARefusalNames) {
  Event event = Refusal("a.com");
  journal_.Report(event);
  event.set_port(1);
  journal_.Report(event);
  event.set_claimed("b.com");
  journal_.Report(event);
  event.set_reason(Event::HOST_DIFFERS);
  journal_.Report(event);
  event.set_kind(Event::CONNECTION_REFUSED);
  journal_.Report(event);
  event.set_transport(Event::UDP);
  journal_.Report(event);
  EXPECT_EQ(events_.size(), 6U);
  journal_.Report(event);
  EXPECT_EQ(events_.size(), 6U);
}

TEST_F(JournalTest, ReportsARepetitionAgainAfterTenSeconds) {
  journal_.Report(Refusal("a.com"));
  now_ += Journal::kRepetition - absl::Nanoseconds(1);
  journal_.Report(Refusal("a.com"));
  EXPECT_EQ(events_.size(), 1U);
  now_ += absl::Nanoseconds(1);
  journal_.Report(Refusal("a.com"));
  EXPECT_EQ(events_.size(), 2U);
}

TEST_F(JournalTest, RemembersTheLastSixtyFourRefusals) {
  for (int i = 0; i < 64; ++i) {
    journal_.Report(Refusal(absl::StrCat("n", i, ".com")));
  }
  journal_.Report(Refusal("n0.com"));
  EXPECT_EQ(events_.size(), 64U);
  journal_.Report(Refusal("n64.com"));
  journal_.Report(Refusal("n1.com"));
  EXPECT_EQ(events_.size(), 65U);
  journal_.Report(Refusal("n0.com"));
  EXPECT_EQ(events_.size(), 66U) << "the oldest one was forgotten";
}

TEST_F(JournalTest, PassesFiftyRefusalsInASecondOnAndNoMoreThanABurst) {
  int next = 0;
  const auto passed = [&](int reported) {
    const size_t before = events_.size();
    for (int i = 0; i < reported; ++i) {
      journal_.Report(Refusal(absl::StrCat("n", next++, ".com")));
    }
    return events_.size() - before;
  };
  EXPECT_EQ(passed(300), 200U);
  now_ += absl::Seconds(1);
  EXPECT_EQ(passed(300), 50U);
  now_ += absl::Milliseconds(20);
  EXPECT_EQ(passed(2), 1U);
  now_ += absl::Hours(1);
  EXPECT_EQ(passed(300), 200U);
}

TEST_F(JournalTest, HoldsAFloodOfEndsBackToo) {
  Event end;
  end.set_kind(Event::CONNECTION_ENDED);
  for (int i = 0; i < 300; ++i) {
    journal_.Report(end);
  }
  EXPECT_EQ(events_.size(), 200U);
  journal_.Report(Refusal("a.com"));
  EXPECT_EQ(events_.back().host(), "a.com");
  EXPECT_EQ(events_.back().left_out(), 100U);
}

TEST(PacketSinkTest, SendsEachEventWithoutWaiting) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const sandbox::UniqueFd ours(ends[0]);
  const sandbox::UniqueFd theirs(ends[1]);
  const Journal::Sink sink = PacketSink(theirs.get());
  EXPECT_TRUE(sink(Refusal("a.com")));
  char bytes[4096];
  const ssize_t got = ::recv(ours.get(), bytes, sizeof(bytes), 0);
  ::corral::egress::v1::Report report;
  ASSERT_TRUE(report.ParseFromArray(bytes, static_cast<int>(got)));
  EXPECT_EQ(report.event().host(), "a.com");
  int sent = 0;
  while (sent < 1'000'000 && sink(report.event())) {
    ++sent;
  }
  EXPECT_LT(sent, 1'000'000) << "nobody reads";
}

}  // namespace
}  // namespace egress

#include "bridge/cli/commands/forward_events.h"

#include <atomic>
#include <future>
#include <thread>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::tests::IsOk;
using ::tests::StatusIs;
using Event = ForwardEvents::Event;

TEST(ForwardEventsTest, ReturnsAServerThatIsGoneAndThenTheEnd) {
  ForwardEvents events;
  events.OnServerGone();
  EXPECT_FALSE(events.ended());
  EXPECT_EQ(events.Next(), Event::kServerGone);
  events.OnSignal();
  EXPECT_TRUE(events.ended());
  EXPECT_EQ(events.Next(), Event::kEnd);
  EXPECT_EQ(events.Next(), Event::kEnd);
  EXPECT_THAT(events.why(), IsOk());
}

TEST(ForwardEventsTest, ReturnsAnEventOnce) {
  for (int i = 0; i < 20; ++i) {
    ForwardEvents events;
    events.OnServerGone();
    EXPECT_EQ(events.Next(), Event::kServerGone);
    std::atomic<bool> begun = false;
    auto next = std::async(std::launch::async, [&] {
      begun = true;
      return events.Next();
    });
    while (!begun) {
      std::this_thread::yield();
    }
    events.OnSignal();
    EXPECT_EQ(next.get(), Event::kEnd);
  }
}

TEST(ForwardEventsTest, EndsWithTheSandboxOnly) {
  ForwardEvents events;
  events.OnFailure(absl::FailedPreconditionError("no server listens"));
  EXPECT_FALSE(events.ended());
  events.OnFailure(absl::NotFoundError("no such sandbox"));
  EXPECT_TRUE(events.ended());
  EXPECT_EQ(events.Next(), Event::kEnd);
  EXPECT_THAT(events.why(),
              StatusIs(absl::StatusCode::kNotFound, "no such sandbox"));
}

TEST(ForwardEventsTest, KeepsTheFirstEnd) {
  ForwardEvents events;
  events.OnSignal();
  events.OnFailure(absl::NotFoundError("no such sandbox"));
  events.OnServerGone();
  EXPECT_TRUE(events.ended());
  EXPECT_EQ(events.Next(), Event::kEnd);
  EXPECT_THAT(events.why(), IsOk());
}

}  // namespace
}  // namespace bridge

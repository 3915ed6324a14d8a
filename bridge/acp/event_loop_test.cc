#include "bridge/acp/event_loop.h"

#include <fcntl.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;

void Round(EventLoop& loop) {
  std::vector<pollfd> none;
  loop.RunOnce(none);
}

TEST(EventLoopTest, RunsWhatOtherThreadsPostInTheirOrder) {
  EventLoop loop;
  std::vector<int> seen;
  std::thread poster([&] {
    for (int i = 0; i < 1000; ++i) {
      loop.Post([&seen, i] { seen.push_back(i); });
    }
  });
  while (seen.size() < 1000) {
    Round(loop);
  }
  poster.join();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(seen[i], i);
  }
}

TEST(EventLoopTest, RunsTimersInTheOrderOfTheirTimes) {
  EventLoop loop;
  std::vector<int> seen;
  loop.After(absl::Milliseconds(2), [&] { seen.push_back(2); });
  loop.After(absl::Milliseconds(1), [&] {
    seen.push_back(1);
    loop.After(absl::ZeroDuration(), [&] { seen.push_back(3); });
  });
  while (seen.size() < 3) {
    Round(loop);
  }
  EXPECT_EQ(seen.front(), 1);
}

TEST(EventLoopTest, ReportsReadyDescriptors) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  sandbox::UniqueFd reader(ends[0]);
  sandbox::UniqueFd writer(ends[1]);
  std::vector<pollfd> descriptors = {{reader.get(), POLLIN, 0}};
  loop.Post([] {});
  loop.RunOnce(descriptors);
  EXPECT_EQ(descriptors.size(), 1u);
  EXPECT_EQ(descriptors[0].revents, 0);
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  loop.RunOnce(descriptors);
  EXPECT_EQ(descriptors[0].revents, POLLIN);
}

TEST(EventLoopTest, DropsWhatDidNotRun) {
  EventLoop loop;
  loop.Post([] { FAIL(); });
  loop.After(absl::ZeroDuration(), [] { FAIL(); });
}

}  // namespace
}  // namespace bridge

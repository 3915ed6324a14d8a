#include "bridge/acp/remote/poll_loop.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {
namespace {

void Round(PollLoop& loop) {
  std::vector<pollfd> none;
  loop.RunOnce(none);
}

TEST(PollLoopTest, RunsPostedActionsInTheirOrder) {
  PollLoop loop;
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

TEST(PollLoopTest, RunsTheTimerThatIsDueFirstFirst) {
  PollLoop loop;
  std::vector<int> seen;
  loop.After(absl::Hours(1), [&] { seen.push_back(3); });
  loop.After(absl::Milliseconds(1), [&] {
    seen.push_back(1);
    loop.After(absl::ZeroDuration(), [&] { seen.push_back(2); });
  });
  while (seen.size() < 2) {
    Round(loop);
  }
  EXPECT_EQ(seen, std::vector<int>({1, 2}));
}

TEST(PollLoopTest, SleepsUntilSomethingHappens) {
  PollLoop loop;
  int posts = 0;
  loop.Post([&posts] { ++posts; });
  loop.Post([&posts] { ++posts; });
  Round(loop);
  EXPECT_EQ(posts, 2);
  bool due = false;
  loop.After(absl::Milliseconds(50), [&due] { due = true; });
  int rounds = 0;
  while (!due) {
    Round(loop);
    ++rounds;
  }
  EXPECT_LE(rounds, 5);
}

TEST(PollLoopTest, ReportsReadyDescriptors) {
  PollLoop loop;
  const sandbox::UniqueFd silent(::eventfd(0, EFD_CLOEXEC));
  const sandbox::UniqueFd ready(::eventfd(1, EFD_CLOEXEC));
  std::vector<pollfd> descriptors = {{silent.get(), POLLIN, 0},
                                     {ready.get(), POLLIN, 0}};
  loop.RunOnce(descriptors);
  ASSERT_EQ(descriptors.size(), 2u);
  EXPECT_EQ(descriptors[0].revents, 0);
  EXPECT_EQ(descriptors[1].revents, POLLIN);
}

TEST(PollLoopTest, ReportsNothingWhenItCannotWait) {
  PollLoop loop;
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // poll(2) refuses more descriptors than a process may have.
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::vector<pollfd> descriptors = {{-1, POLLIN, POLLIN}};
  loop.RunOnce(descriptors);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(descriptors.size(), 1u);
  EXPECT_EQ(descriptors[0].revents, 0);
}

TEST(PollLoopTest, DropsActionsThatDidNotRun) {
  PollLoop loop;
  loop.Post([] { FAIL(); });
  loop.After(absl::ZeroDuration(), [] { FAIL(); });
}

}  // namespace
}  // namespace bridge

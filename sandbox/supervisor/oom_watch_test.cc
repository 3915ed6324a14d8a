// Plays the announcements of the kernel and its count of killed processes.

#include "sandbox/supervisor/oom_watch.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

class OomWatchTest : public ::testing::Test {
 protected:
  OomWatchTest() {
    UniqueFd events(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    // The kernel's end.
    kernel_.Reset(::fcntl(events.get(), F_DUPFD_CLOEXEC, 0));
    watch_->Start(std::move(events));
  }

  // The kernel announces that memory runs out.
  void Announce() {
    EXPECT_EQ(::eventfd_write(kernel_.get(), 1), 0);
    RunLoop();
  }
  // Handles all events there are.
  void RunLoop() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  tests::FakeTimers timers_;
  UniqueFd kernel_;
  uint64_t killed_ = 0;
  int counts_ = 0;
  int kills_ = 0;
  std::unique_ptr<OomWatch> watch_ = std::make_unique<OomWatch>(
      loop_.get(), &timers_,
      [this] {
        ++counts_;
        return killed_;
      },
      [this] { ++kills_; });
};

TEST_F(OomWatchTest, KillsTheOthersOfAProcessThatIsKilledAfterTheAnnouncement) {
  RunLoop();
  EXPECT_EQ(counts_, 0);
  Announce();
  EXPECT_EQ(counts_, 1);
  timers_.Advance(absl::Milliseconds(20));
  EXPECT_EQ(kills_, 0);
  killed_ = 1;
  timers_.Advance(absl::Milliseconds(20));
  EXPECT_EQ(kills_, 1);
  EXPECT_EQ(timers_.size(), 0u);
  timers_.Advance(absl::Seconds(20));
  EXPECT_EQ(kills_, 1);
}

TEST_F(OomWatchTest, KillsAtOnceWhenAProcessWasKilledBefore) {
  killed_ = 2;
  Announce();
  EXPECT_EQ(kills_, 1);
}

TEST_F(OomWatchTest, LeavesACommandOfWhichNoProcessIsKilled) {
  Announce();
  timers_.Advance(absl::Seconds(20));
  EXPECT_EQ(kills_, 0);
  EXPECT_EQ(timers_.size(), 0u) << "it asks for ever";
  EXPECT_LT(counts_, 200);
  // The next announcement begins anew.
  Announce();
  killed_ = 1;
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(kills_, 1);
}

TEST_F(OomWatchTest, AsksNothingOnceItIsStopped) {
  Announce();
  watch_->Stop();
  killed_ = 1;
  timers_.Advance(absl::Seconds(20));
  Announce();
  EXPECT_EQ(counts_, 1);
  EXPECT_EQ(kills_, 0);
  watch_->Stop();
}

TEST_F(OomWatchTest, DoesNothingWithoutEvents) {
  OomWatch other(
      loop_.get(), &timers_, [] { return uint64_t{1}; },
      [] { ADD_FAILURE() << "nothing was announced"; });
  other.Start(UniqueFd());
  RunLoop();
  other.Stop();
}

TEST_F(OomWatchTest, IsOverWithItsOwner) {
  Announce();
  watch_.reset();
  EXPECT_EQ(timers_.size(), 0u);
  Announce();
}

}  // namespace
}  // namespace sandbox

#include "sandbox/base/event_loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/waiting_thread.h"

// Called by epoll_ctl(2) of this thread before the system call.
thread_local std::function<void()> before_epoll_ctl;

// Takes the place of the C library's function.
extern "C" int epoll_ctl(int epoll, int operation, int fd,
                         epoll_event* event) noexcept {
  if (before_epoll_ctl) {
    std::exchange(before_epoll_ctl, nullptr)();
  }
  return static_cast<int>(
      ::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

namespace sandbox {
namespace {

class EventLoopTest : public ::testing::Test {
 protected:
  EventLoopTest() {
    int fds[2];
    EXPECT_EQ(::pipe(fds), 0);
    read_.Reset(fds[0]);
    write_.Reset(fds[1]);
  }
  void Feed() { ASSERT_EQ(::write(write_.get(), "x", 1), 1); }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  UniqueFd read_;
  UniqueFd write_;
  std::string log_;
};

TEST_F(EventLoopTest, RunsWhatWasPostedInOrderAndThenStops) {
  loop_->Post([this] { log_ += 'a'; });
  loop_->Post([this] { log_ += 'b'; });
  loop_->Stop();
  loop_->Run();
  EXPECT_EQ(log_, "ab");
}

TEST_F(EventLoopTest, RunsAgainAfterItWasStopped) {
  for (int i = 0; i < 2; ++i) {
    loop_->WhenIdle([this] {
      log_ += 'a';
      loop_->Stop();
    });
    loop_->Run();
  }
  EXPECT_EQ(log_, "aa");
}

TEST_F(EventLoopTest, ReportsThatADescriptorIsReady) {
  loop_->Watch(read_.get(), EPOLLIN, [this](uint32_t events) {
    EXPECT_EQ(events, static_cast<uint32_t>(EPOLLIN));
    loop_->Unwatch(read_.get());
    loop_->Stop();
  });
  Feed();
  loop_->Run();
}

TEST_F(EventLoopTest, ReportsNothingOfADescriptorThatItHasClosed) {
  const int number = read_.get();
  loop_->Watch(number, EPOLLIN, [this](uint32_t) { log_ += 'x'; });
  Feed();
  loop_->Close(std::move(read_));
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
  int again[2];
  ASSERT_EQ(::pipe2(again, O_CLOEXEC), 0);
  ASSERT_EQ(again[0], number);
  const UniqueFd read(again[0]);
  const UniqueFd write(again[1]);
  loop_->Watch(number, EPOLLIN, [this](uint32_t) { loop_->Stop(); });
  ASSERT_EQ(::write(write.get(), "y", 1), 1);
  loop_->Run();
  loop_->Unwatch(number);
  EXPECT_EQ(log_, "");
}

TEST_F(EventLoopTest, ReportsNothingOfACopyOnceAOneShotWatchIsClosed) {
  const UniqueFd copy(::fcntl(read_.get(), F_DUPFD_CLOEXEC, 0));
  loop_->Watch(read_.get(), EPOLLIN | EPOLLONESHOT, [this](uint32_t) {
    log_ += 'x';
    loop_->Close(std::move(read_));
    // Runs only if no descriptor is ready.
    loop_->WhenIdle([this] { loop_->Stop(); });
  });
  Feed();
  loop_->Run();
  EXPECT_EQ(log_, "x");
}

TEST_F(EventLoopTest, ReportsNothingOfACopyOfAOneShotWatchThatWasClosedEarly) {
  const UniqueFd copy(::fcntl(read_.get(), F_DUPFD_CLOEXEC, 0));
  loop_->Watch(read_.get(), EPOLLIN | EPOLLONESHOT,
               [this](uint32_t) { log_ += 'x'; });
  Feed();
  loop_->Close(std::move(read_));
  loop_->WhenIdle([this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(log_, "");
}

TEST_F(EventLoopTest, ReportsOnlyTheEventsThatAreWatched) {
  loop_->Watch(read_.get(), 0, [this](uint32_t) {
    log_ += 'x';
    loop_->Stop();
  });
  Feed();
  // Timers run after the descriptors that are ready.
  loop_->After(absl::ZeroDuration(), [this] {
    EXPECT_EQ(log_, "");
    loop_->SetEvents(read_.get(), EPOLLIN);
  });
  loop_->Run();
  EXPECT_NE(log_, "");
  loop_->Unwatch(read_.get());
}

TEST_F(EventLoopTest, DropsTheEventOfAWatchThatAnEarlierCallbackRemoved) {
  UniqueFd other(::dup(read_.get()));
  const auto remove_both = [this, &other](uint32_t) {
    log_ += 'x';
    loop_->Unwatch(read_.get());
    loop_->Unwatch(other.get());
    loop_->Stop();
  };
  loop_->Watch(read_.get(), EPOLLIN, remove_both);
  loop_->Watch(other.get(), EPOLLIN, remove_both);
  Feed();
  loop_->Run();
  EXPECT_EQ(log_, "x");
}

TEST_F(EventLoopTest, DropsAStaleEventOfAReusedDescriptorNumber) {
  int quiet[2];
  ASSERT_EQ(::pipe(quiet), 0);
  const UniqueFd quiet_read(quiet[0]);
  const UniqueFd quiet_write(quiet[1]);
  const UniqueFd other(::dup(read_.get()));
  // Both are ready at once; the first callback reuses the number of the other
  // descriptor for one that is not ready.
  const auto replace = [&](const UniqueFd& closed) {
    log_ += 'x';
    loop_->Unwatch(read_.get());
    loop_->Unwatch(other.get());
    ASSERT_EQ(::dup2(quiet_read.get(), closed.get()), closed.get());
    loop_->Watch(closed.get(), EPOLLIN, [this](uint32_t) { log_ += 'y'; });
    loop_->Stop();
  };
  loop_->Watch(read_.get(), EPOLLIN, [&](uint32_t) { replace(other); });
  loop_->Watch(other.get(), EPOLLIN, [&](uint32_t) { replace(read_); });
  Feed();
  loop_->Run();
  EXPECT_EQ(log_, "x");
  loop_->Unwatch(read_.get());
  loop_->Unwatch(other.get());
}

TEST_F(EventLoopTest, RefusesToWatchADescriptorTwice) {
  loop_->Watch(read_.get(), EPOLLIN, [](uint32_t) {});
  EXPECT_DEATH(loop_->Watch(read_.get(), EPOLLIN, [](uint32_t) {}),
               "is watched twice");
  loop_->Unwatch(read_.get());
  EXPECT_DEATH(loop_->SetEvents(read_.get(), 0), "is not watched");
}

TEST_F(EventLoopTest, RefusesToWatchWhatIsAlwaysReady) {
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_DEATH(loop_->Watch(file.get(), EPOLLIN, [](uint32_t) {}),
               "epoll_ctl.*errno 1");
}

TEST_F(EventLoopTest, WatchesADescriptorAgain) {
  for (int i = 0; i < 2; ++i) {
    Feed();
    loop_->Watch(read_.get(), EPOLLIN, [this](uint32_t) {
      log_ += 'a';
      loop_->Unwatch(read_.get());
      loop_->Stop();
    });
    loop_->Run();
  }
  EXPECT_EQ(log_, "aa");
}

TEST_F(EventLoopTest, RunsTimersInTheOrderOfTheirTimes) {
  loop_->After(absl::Hours(1), [this] { log_ += 'd'; });
  loop_->After(absl::ZeroDuration(), [this] { log_ += 'a'; });
  const EventLoop::TimerId cancelled =
      loop_->After(absl::Milliseconds(1), [this] { log_ += 'x'; });
  loop_->After(absl::Milliseconds(1), [this] { log_ += 'b'; });
  loop_->After(absl::Milliseconds(2), [this] {
    log_ += 'c';
    loop_->Stop();
  });
  loop_->Cancel(cancelled);
  loop_->Run();
  EXPECT_EQ(log_, "abc");
}

TEST_F(EventLoopTest, ATimerIsPendingUntilItsFunctionRuns) {
  EventLoop::TimerId id;
  id = loop_->After(absl::ZeroDuration(), [&] {
    EXPECT_FALSE(loop_->IsPending(id));
    loop_->Stop();
  });
  EXPECT_TRUE(loop_->IsPending(id));
  loop_->Run();
  EXPECT_FALSE(loop_->IsPending(id));
}

TEST_F(EventLoopTest, AcceptsAnInfiniteDelay) {
  loop_->After(absl::InfiniteDuration(), [this] { log_ += 'x'; });
  loop_->After(absl::Hours(1'000'000), [this] { log_ += 'x'; });
  loop_->Stop();
  loop_->Run();
  EXPECT_EQ(log_, "");
}

TEST_F(EventLoopTest, ATimerMayCancelAnotherThatIsDue) {
  EventLoop::TimerId second;
  loop_->After(absl::ZeroDuration(), [&] {
    log_ += 'a';
    loop_->Cancel(second);
    loop_->Stop();
  });
  second = loop_->After(absl::ZeroDuration(), [this] { log_ += 'x'; });
  loop_->Run();
  EXPECT_EQ(log_, "a");
}

TEST_F(EventLoopTest, RunsDeferredWorkAfterTheCallbackAndIdleWorkLast) {
  loop_->Post([this] {
    loop_->WhenIdle([this] {
      log_ += 'c';
      loop_->Stop();
    });
    loop_->Defer([this] { log_ += 'b'; });
    log_ += 'a';
  });
  loop_->Run();
  EXPECT_EQ(log_, "abc");
}

TEST_F(EventLoopTest, RunsWhatDeferredWorkDefersBeforeAnythingElse) {
  loop_->Post([this] {
    loop_->After(absl::ZeroDuration(), [this] {
      log_ += 'c';
      loop_->Stop();
    });
    loop_->Defer([this] {
      log_ += 'a';
      loop_->Defer([this] { log_ += 'b'; });
    });
  });
  loop_->Run();
  EXPECT_EQ(log_, "abc");
}

TEST_F(EventLoopTest, RunsWhatATimerAndIdleWorkDefer) {
  loop_->After(absl::ZeroDuration(), [this] {
    loop_->Defer([this] {
      log_ += 'a';
      loop_->WhenIdle([this] {
        loop_->Defer([this] {
          log_ += 'b';
          loop_->Stop();
        });
      });
    });
  });
  loop_->Run();
  EXPECT_EQ(log_, "ab");
}

TEST_F(EventLoopTest, RunsNoIdleWorkWhileADescriptorIsReady) {
  loop_->Post([this] {
    loop_->WhenIdle([this] {
      log_ += 'b';
      loop_->Stop();
    });
    loop_->Watch(read_.get(), EPOLLIN, [this](uint32_t) {
      log_ += 'a';
      loop_->Unwatch(read_.get());
    });
  });
  Feed();
  loop_->Run();
  EXPECT_EQ(log_, "ab");
}

TEST_F(EventLoopTest, IsWokenByAnotherThread) {
  std::thread other([this] {
    loop_->Post([this] { log_ += 'a'; });
    loop_->Stop();
  });
  loop_->Run();
  other.join();
  EXPECT_EQ(log_, "a");
}

TEST_F(EventLoopTest, ContinuesAfterASignal) {
  // Without SA_RESTART.
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &before);
  const pid_t id = ::gettid();
  std::thread other([this, id, runner = ::pthread_self()] {
    loop_->Post([this] { log_ += 'a'; });
    while (!tests::WaitsIn(id, SYS_epoll_wait)) {
      std::this_thread::yield();
    }
    ::pthread_kill(runner, SIGUSR1);
    loop_->Stop();
  });
  loop_->Run();
  other.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(log_, "a");
}

TEST_F(EventLoopTest, OutlivesTheCallThatStopsIt) {
  std::atomic<bool> posted = false;
  std::atomic<bool> destroyed = false;
  std::atomic<pid_t> id = 0;
  std::thread owner([&] {
    while (!posted) {
      std::this_thread::yield();
    }
    id = ::gettid();
    loop_->Run();
    loop_.reset();
    destroyed = true;
  });
  // The owner could end now, since the loop is awake in any case.
  before_epoll_ctl = [&] {
    posted = true;
    while (!destroyed && (id == 0 || !tests::WaitsForALock(id))) {
      std::this_thread::yield();
    }
    ASSERT_FALSE(destroyed);
  };
  loop_->Stop();
  owner.join();
  EXPECT_TRUE(destroyed);
}

}  // namespace
}  // namespace sandbox

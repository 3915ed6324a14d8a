#include "server/runtime/stop_signals.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>

#include "gtest/gtest.h"

namespace server {
namespace {

class StopSignalsTest : public ::testing::Test {
 protected:
  StopSignalsTest() { StopSignals::Block(); }

  void Count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    changed_.notify_all();
  }

  // Waits for `count` requests, and returns how many came. Only a failure takes
  // the minute.
  int AwaitCount(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(1),
                      [&] { return count_ >= count; });
    return count_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

TEST_F(StopSignalsTest, ReportsEachSignalThatAsksToStop) {
  const StopSignals signals([this] { Count(); });
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(AwaitCount(1), 1);
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(AwaitCount(2), 2);
}

TEST_F(StopSignalsTest, GoesOnAfterASignalOfAnotherProcess) {
  // Both are pending when the thread begins, which takes SIGUSR1 first: the
  // kernel delivers the lower number first.
  ::kill(::getpid(), SIGUSR1);
  ::kill(::getpid(), SIGTERM);
  const StopSignals signals([this] { Count(); });
  EXPECT_EQ(AwaitCount(1), 1);
}

TEST_F(StopSignalsTest, TakesSignalsThatMeanNothing) {
  const StopSignals signals([this] { Count(); });
  for (const int signal :
       {SIGHUP, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR,
        SIGSTKFLT, SIGXCPU, SIGXFSZ, SIGRTMIN, SIGRTMAX}) {
    ::kill(::getpid(), signal);
  }
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(AwaitCount(1), 1);
}

TEST_F(StopSignalsTest, ItsOwnEndIsNotARequest) {
  {
    const StopSignals signals([this] { Count(); });
  }
  EXPECT_EQ(AwaitCount(0), 0);
}

TEST_F(StopSignalsTest, BlocksSigpipe) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), 1);
}

TEST(StopSignals, ProgramsThatTheServerStartsDoNotIgnoreSigpipe) {
  std::signal(SIGPIPE, SIG_IGN);
  StopSignals::Block();
  EXPECT_EQ(std::signal(SIGPIPE, SIG_DFL), SIG_DFL);
}

}  // namespace
}  // namespace server

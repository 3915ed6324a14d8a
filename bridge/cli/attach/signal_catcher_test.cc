#include "bridge/cli/attach/signal_catcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;

class SignalCatcherTest : public ::testing::Test {
 protected:
  ~SignalCatcherTest() override {
    catcher_.reset();
    for (const int number : {SIGUSR1, SIGUSR2, SIGHUP}) {
      ::signal(number, SIG_DFL);
    }
  }

  void Catch(const std::vector<int>& signals) {
    catcher_ = std::make_unique<SignalCatcher>(signals, [this](int number) {
      sandbox::MutexLock lock(&mutex_);
      caught_.push_back(number);
      mutex_.Signal();
    });
  }

  std::vector<int> Await(size_t count) {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return caught_.size() >= count;
    });
    return caught_;
  }

  sandbox::Mutex mutex_;
  std::vector<int> caught_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<SignalCatcher> catcher_;
};

TEST_F(SignalCatcherTest, DeliversSignalsInTheirOrder) {
  Catch({SIGUSR1, SIGUSR2});
  ::raise(SIGUSR2);
  ::raise(SIGUSR1);
  ::raise(SIGUSR2);
  EXPECT_THAT(Await(3), ElementsAre(SIGUSR2, SIGUSR1, SIGUSR2));
}

TEST_F(SignalCatcherTest, LeavesASignalIgnoredThatWasIgnored) {
  ::signal(SIGHUP, SIG_IGN);
  Catch({SIGHUP, SIGUSR1});
  ::raise(SIGHUP);
  ::raise(SIGUSR1);
  EXPECT_THAT(Await(1), ElementsAre(SIGUSR1));
}

TEST_F(SignalCatcherTest, LetsSystemCallsGoOnThatASignalInterrupts) {
  Catch({SIGUSR1});
  struct sigaction action = {};
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &action), 0);
  EXPECT_EQ(action.sa_flags & SA_RESTART, SA_RESTART);
}

TEST_F(SignalCatcherTest, TakesTheEffectFromSignalsThatComeLate) {
  Catch({SIGUSR1});
  catcher_.reset();
  errno = ENOTTY;
  ::raise(SIGUSR1);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_THAT(Await(0), ElementsAre());
}

TEST_F(SignalCatcherTest, LeavesAPipeAloneThatTookThePlaceOfItsOwn) {
  Catch({SIGUSR1});
  catcher_.reset();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const sandbox::UniqueFd reader(ends[0]);
  const sandbox::UniqueFd writer(ends[1]);
  ::raise(SIGUSR1);
  int size = -1;
  ASSERT_EQ(::ioctl(reader.get(), FIONREAD, &size), 0);
  EXPECT_EQ(size, 0);
}

TEST_F(SignalCatcherTest, DropsSignalsForWhichItHasNoRoomAndEndsThen) {
  std::atomic<bool> blocked = true;
  std::atomic<int> caught = 0;
  catcher_ =
      std::make_unique<SignalCatcher>(std::vector<int>{SIGUSR1}, [&](int) {
        while (blocked) {
          std::this_thread::yield();
        }
        ++caught;
      });
  for (int i = 0; i < 70'000; ++i) {
    ::raise(SIGUSR1);
  }
  blocked = false;
  catcher_.reset();
  EXPECT_GE(caught, 4096);
  EXPECT_LT(caught, 70'000);
}

TEST_F(SignalCatcherTest, DeliversWhatCameBeforeItsEnd) {
  Catch({SIGUSR1});
  for (int i = 0; i < 100; ++i) {
    ::raise(SIGUSR1);
  }
  catcher_.reset();
  EXPECT_EQ(Await(0).size(), 100);
}

}  // namespace
}  // namespace bridge

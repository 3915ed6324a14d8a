#include "sandbox/supervisor/strange_children.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

using Kind = StrangeChildren::Kind;
using ::testing::ElementsAre;

class StrangeChildrenTest : public ::testing::Test {
 protected:
  StrangeChildrenTest() { BlockChildSignal(); }

  void Watch() { ASSERT_TRUE(children_.Watch().ok()); }

  // A child that ends at once.
  static pid_t Start() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(3);
    }
    return child;
  }
  static void AwaitEnd(pid_t child) {
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  }
  // The child was reaped.
  static bool Gone(pid_t child) { return ::kill(child, 0) != 0; }
  // Runs the loop until it has nothing to do, and then a look.
  void RunLoop() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
    timers_.Advance(StrangeChildren::kRest);
  }

  const std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  tests::FakeTimers timers_;
  std::vector<pid_t> own_;
  std::vector<pid_t> seen_;
  // Is the supervisor's own and not reaped.
  pid_t kept_ = 0;
  bool starting_ = false;
  // How often the class asked to learn the end of the starts.
  int awaited_ = 0;
  absl::AnyInvocable<void()> on_started_;
  StrangeChildren children_{loop_.get(),
                            &timers_,
                            {[this](pid_t pid) {
                               seen_.push_back(pid);
                               for (const pid_t own : own_) {
                                 if (own == pid) {
                                   ::waitpid(pid, nullptr, 0);
                                   return Kind::kReaped;
                                 }
                               }
                               return pid == kept_ ? Kind::kOwn
                                                   : Kind::kStrange;
                             },
                             [this](absl::AnyInvocable<void()> on_started) {
                               ++awaited_;
                               if (starting_) {
                                 on_started_ = std::move(on_started);
                               }
                               return starting_;
                             }}};
};

TEST_F(StrangeChildrenTest, AreReapedWhenTheyEnd) {
  Watch();
  const pid_t first = Start();
  const pid_t second = Start();
  AwaitEnd(first);
  AwaitEnd(second);
  RunLoop();
  EXPECT_TRUE(Gone(first));
  EXPECT_TRUE(Gone(second));
}

TEST_F(StrangeChildrenTest, LeaveTimeForOtherWorkHoweverManyThereAre) {
  Watch();
  std::vector<pid_t> children;
  for (int i = 0; i < 100; ++i) {
    children.push_back(Start());
    AwaitEnd(children.back());
  }
  RunLoop();
  EXPECT_TRUE(Gone(children.front()));
  EXPECT_FALSE(Gone(children.back())) << "all in one turn of the loop";
  RunLoop();
  EXPECT_TRUE(Gone(children.back()));
}

TEST_F(StrangeChildrenTest, AreReapedBehindOnesOwn) {
  Watch();
  own_ = {Start()};
  const pid_t strange = Start();
  AwaitEnd(own_[0]);
  AwaitEnd(strange);
  RunLoop();
  EXPECT_TRUE(Gone(strange));
  EXPECT_THAT(seen_, ElementsAre(own_[0], strange));
}

TEST_F(StrangeChildrenTest, WaitUntilAChildThatIsBeingStartedIsKnown) {
  Watch();
  starting_ = true;
  const pid_t child = Start();
  const pid_t strange = Start();
  AwaitEnd(child);
  AwaitEnd(strange);
  RunLoop();
  EXPECT_FALSE(Gone(child));
  own_ = {child};
  starting_ = false;
  on_started_();
  EXPECT_TRUE(Gone(child));
  EXPECT_TRUE(Gone(strange));
}

TEST_F(StrangeChildrenTest, AreReapedThoughAnotherChildIsAlwaysBeingStarted) {
  Watch();
  starting_ = true;
  const pid_t strange = Start();
  AwaitEnd(strange);
  RunLoop();
  EXPECT_FALSE(Gone(strange));
  on_started_();
  EXPECT_TRUE(Gone(strange));
}

TEST_F(StrangeChildrenTest, AreReapedOneAfterTheOtherWhileOthersAreStarted) {
  Watch();
  starting_ = true;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(Start());
    AwaitEnd(children.back());
  }
  RunLoop();
  for (size_t i = 0; i < children.size(); ++i) {
    EXPECT_FALSE(Gone(children[i]));
    std::exchange(on_started_, nullptr)();
    EXPECT_TRUE(Gone(children[i]));
  }
}

TEST_F(StrangeChildrenTest, AreAwaitedAgainWhenTheyWereOnesOwnBefore) {
  Watch();
  starting_ = true;
  const pid_t child = Start();
  AwaitEnd(child);
  RunLoop();
  kept_ = child;
  std::exchange(on_started_, nullptr)();
  EXPECT_FALSE(Gone(child));
  // A later child may get the same number.
  kept_ = 0;
  AwaitEnd(Start());
  RunLoop();
  EXPECT_EQ(awaited_, 2);
  EXPECT_FALSE(Gone(child));
  on_started_();
  EXPECT_TRUE(Gone(child));
}

TEST_F(StrangeChildrenTest, AreLeftBehindOnesOwnThatOthersLookAfter) {
  Watch();
  kept_ = Start();
  AwaitEnd(kept_);
  const pid_t strange = Start();
  AwaitEnd(strange);
  RunLoop();
  EXPECT_FALSE(Gone(kept_));
  EXPECT_FALSE(Gone(strange));
  // Its end is seen, and the next signal shows the others.
  ::waitpid(kept_, nullptr, 0);
  AwaitEnd(Start());
  RunLoop();
  EXPECT_TRUE(Gone(strange));
}

TEST_F(StrangeChildrenTest, AreAskedAboutOnceWhileAStartIsAwaited) {
  Watch();
  starting_ = true;
  AwaitEnd(Start());
  RunLoop();
  EXPECT_EQ(awaited_, 1);
  const pid_t second = Start();
  AwaitEnd(second);
  RunLoop();
  EXPECT_EQ(awaited_, 1);
  starting_ = false;
  on_started_();
  EXPECT_TRUE(Gone(second));
}

TEST_F(StrangeChildrenTest, DoNotEndTheLoopWhenTheyStop) {
  Watch();
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT);
  RunLoop();
  EXPECT_THAT(seen_, ElementsAre());
  ::kill(child, SIGCONT);
  AwaitEnd(child);
  RunLoop();
  EXPECT_THAT(seen_, ElementsAre(child));
  EXPECT_TRUE(Gone(child));
}

}  // namespace
}  // namespace sandbox

// A loop on a host that is short of descriptors or memory.

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

// How many of the next epoll_ctl(2) of this thread fail for want of memory.
thread_local int failing_epoll_ctls = 0;

// Takes the place of the C library's function.
extern "C" int epoll_ctl(int epoll, int operation, int fd,
                         epoll_event* event) noexcept {
  if (failing_epoll_ctls > 0) {
    --failing_epoll_ctls;
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(
      ::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::StatusIs;

class EventLoopShortageTest : public ::testing::Test {
 protected:
  EventLoopShortageTest() {
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

TEST_F(EventLoopShortageTest, ReportsThatTheHostHasNoRoomForALoop) {
  for (const int call : {SYS_epoll_create1, SYS_eventfd2}) {
    absl::Status made;
    if (!tests::WithFailingCalls(
            {call}, EMFILE, [&] { made = EventLoop::Create().status(); })) {
      GTEST_SKIP() << "this host allows no filter";
    }
    EXPECT_THAT(made, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("epoll_create1")));
  }
}

TEST_F(EventLoopShortageTest, RetriesAWatchThatTheKernelHasNoRoomFor) {
  for (const int error : {ENOMEM, ENOSPC}) {
    log_.clear();
    const bool filtered = tests::WithFailingCalls({SYS_epoll_ctl}, error, [&] {
      loop_->Watch(read_.get(), 0, [this](uint32_t) {
        log_ += 'a';
        loop_->Unwatch(read_.get());
        loop_->Stop();
      });
      loop_->SetEvents(read_.get(), EPOLLIN);
    });
    if (!filtered) {
      GTEST_SKIP() << "this host allows no filter";
    }
    Feed();
    loop_->Run();
    EXPECT_EQ(log_, "a");
    loop_ = *EventLoop::Create();
  }
}

TEST_F(EventLoopShortageTest, RetriesNoWatchThatWasRemovedOrReplaced) {
  const UniqueFd other(::dup(read_.get()));
  failing_epoll_ctls = 2;
  loop_->Watch(other.get(), EPOLLIN, [](uint32_t) {});
  loop_->Watch(read_.get(), EPOLLIN, [this](uint32_t) { log_ += 'x'; });
  loop_->Unwatch(other.get());
  loop_->Unwatch(read_.get());
  loop_->Watch(read_.get(), EPOLLIN, [this](uint32_t) {
    log_ += 'a';
    loop_->Unwatch(read_.get());
    loop_->Stop();
  });
  // Due after the retries.
  loop_->After(absl::Milliseconds(20), [this] { Feed(); });
  loop_->Run();
  EXPECT_EQ(log_, "a");
}

TEST_F(EventLoopShortageTest, RunsWhatIsPostedWhileTheKernelIsShortOfMemory) {
  loop_->Post([this] {
    failing_epoll_ctls = 2;
    loop_->Post([this] { log_ += 'a'; });
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_EQ(log_, "a");
}

}  // namespace
}  // namespace sandbox

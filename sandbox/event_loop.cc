#include "sandbox/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/status/status.h"
#include "sandbox/base/log.h"

namespace sandbox {
namespace {

int64_t MonotonicNanoseconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

constexpr uint32_t kOnce = EPOLLIN | EPOLLONESHOT;

}  // namespace

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wakeup(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll.valid() || !wakeup.valid()) {
    return absl::ErrnoToStatus(errno, "epoll_create1, eventfd");
  }
  return std::unique_ptr<EventLoop>(
      new EventLoop(std::move(epoll), std::move(wakeup)));
}

EventLoop::EventLoop(UniqueFd epoll, UniqueFd wakeup)
    : epoll_(std::move(epoll)), wakeup_(std::move(wakeup)) {
  Watch(wakeup_.get(), kOnce, [this](uint32_t) { RunPosted(); });
}

void EventLoop::Watch(int fd, uint32_t events, OnReady on_ready) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0)
      << "epoll_ctl(ADD " << fd << "): errno " << errno;
  watches_[fd] = std::make_shared<OnReady>(std::move(on_ready));
}

void EventLoop::SetEvents(int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0)
      << "epoll_ctl(MOD " << fd << "): errno " << errno;
}

void EventLoop::Unwatch(int fd) {
  if (watches_.erase(fd) != 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
}

EventLoop::TimerId EventLoop::After(absl::Duration delay, Function function) {
  const int64_t now = MonotonicNanoseconds();
  const int64_t at = now + std::min(absl::ToInt64Nanoseconds(delay),
                                    std::numeric_limits<int64_t>::max() - now);
  const TimerId id(at, next_timer_++);
  timers_.emplace(id, std::move(function));
  return id;
}

void EventLoop::Cancel(TimerId timer) { timers_.erase(timer); }

void EventLoop::Post(Function function) {
  {
    MutexLock lock(&mutex_);
    posted_.push_back(std::move(function));
  }
  // It is always readable; this tells it once more. Other than a write it
  // cannot fail.
  SetEvents(wakeup_.get(), kOnce);
}

void EventLoop::RunPosted() {
  std::vector<Function> posted;
  {
    MutexLock lock(&mutex_);
    posted.swap(posted_);
  }
  for (Function& function : posted) {
    function();
  }
}

void EventLoop::RunDeferred() {
  while (!deferred_.empty()) {
    std::vector<Function> deferred;
    deferred.swap(deferred_);
    for (Function& function : deferred) {
      function();
    }
  }
}

void EventLoop::RunTimers() {
  const int64_t now = MonotonicNanoseconds();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    Function function = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    function();
  }
}

int EventLoop::Timeout() const {
  if (!idle_.empty()) {
    return 0;
  }
  if (timers_.empty()) {
    return -1;
  }
  const int64_t left = timers_.begin()->first.first - MonotonicNanoseconds();
  // Rounded up, so that a timer is due when epoll_wait returns.
  return static_cast<int>(
      std::clamp<int64_t>((left + 999'999) / 1'000'000, 0, 1'000'000'000));
}

void EventLoop::Run() {
  constexpr int kBatch = 16;
  epoll_event events[kBatch];
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_.get(), events, kBatch, Timeout());
    CHECK(count >= 0 || errno == EINTR) << "epoll_wait: errno " << errno;
    for (int i = 0; i < count; ++i) {
      // A callback before this one may have removed the watch.
      auto watch = watches_.find(events[i].data.fd);
      if (watch != watches_.end()) {
        const std::shared_ptr<OnReady> on_ready = watch->second;
        (*on_ready)(events[i].events);
        RunDeferred();
      }
    }
    RunTimers();
    if (count == 0 && !idle_.empty()) {
      Function function = std::move(idle_.front());
      idle_.pop_front();
      function();
    }
    RunDeferred();
  }
}

void EventLoop::Stop() {
  Post([this] { stopping_ = true; });
}

}  // namespace sandbox

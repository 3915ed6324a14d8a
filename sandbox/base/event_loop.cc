#include "sandbox/base/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/status/status.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/log.h"

namespace sandbox {
namespace {

constexpr uint32_t kOnce = EPOLLIN | EPOLLONESHOT;
// The generation of the watch that the loop has on itself.
constexpr uint32_t kWakeup = 0;
// The delay before a watch is retried that the kernel had no room for.
constexpr absl::Duration kRetry = absl::Milliseconds(10);

uint64_t Tag(int fd, uint32_t generation) {
  return uint64_t{generation} << 32 | static_cast<uint32_t>(fd);
}

bool Control(const UniqueFd& epoll, int operation, int fd, uint32_t generation,
             uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = Tag(fd, generation);
  return ::epoll_ctl(epoll.get(), operation, fd, &event) == 0;
}

bool IsShortage(int error) { return error == ENOMEM || error == ENOSPC; }

}  // namespace

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wakeup(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll.valid() || !wakeup.valid() ||
      !Control(epoll, EPOLL_CTL_ADD, wakeup.get(), kWakeup, kOnce)) {
    return absl::ErrnoToStatus(errno, "epoll_create1, eventfd, epoll_ctl");
  }
  return std::unique_ptr<EventLoop>(
      new EventLoop(std::move(epoll), std::move(wakeup)));
}

EventLoop::EventLoop(UniqueFd epoll, UniqueFd wakeup)
    : epoll_(std::move(epoll)), wakeup_(std::move(wakeup)) {
  watches_[wakeup_.get()] = {
      kWakeup, kOnce, true,
      std::make_shared<OnReady>([this](uint32_t) { RunPosted(); })};
}

void EventLoop::Watch(int fd, uint32_t events, OnReady on_ready) {
  CHECK(watches_.count(fd) == 0) << "descriptor " << fd << " is watched twice";
  const uint32_t generation = next_generation_++;
  watches_[fd] = {generation, events, false,
                  std::make_shared<OnReady>(std::move(on_ready))};
  Apply(fd, generation);
}

void EventLoop::SetEvents(int fd, uint32_t events) {
  const auto watch = watches_.find(fd);
  CHECK(watch != watches_.end()) << "descriptor " << fd << " is not watched";
  watch->second.events = events;
  Apply(fd, watch->second.generation);
}

void EventLoop::Apply(int fd, uint32_t generation) {
  const auto watch = watches_.find(fd);
  if (watch == watches_.end() || watch->second.generation != generation) {
    return;
  }
  const int operation = watch->second.added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (Control(epoll_, operation, fd, generation, watch->second.events)) {
    watch->second.added = true;
    return;
  }
  CHECK(IsShortage(errno)) << "epoll_ctl(" << fd << "): errno " << errno;
  After(kRetry, [this, fd, generation] { Apply(fd, generation); });
}

void EventLoop::Unwatch(int fd) {
  if (watches_.erase(fd) != 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
}

void EventLoop::Close(UniqueFd fd) { watches_.erase(fd.get()); }

EventLoop::TimerId EventLoop::After(absl::Duration delay, Function function) {
  const int64_t now = MonotonicNanoseconds();
  const int64_t at = now + std::min(absl::ToInt64Nanoseconds(delay),
                                    std::numeric_limits<int64_t>::max() - now);
  const TimerId id(at, next_timer_++);
  timers_.emplace(id, std::move(function));
  return id;
}

void EventLoop::Post(Function function) {
  // The lock is held to the end, so that RunPosted() does not take the function
  // while this call still needs the loop: the function may have the loop
  // stopped and destroyed.
  MutexLock lock(&mutex_);
  posted_.push_back(std::move(function));
  // The eventfd is always readable; this arms its watch once more. Unlike a
  // write(2) it fails only while the kernel is short of memory.
  while (!Control(epoll_, EPOLL_CTL_MOD, wakeup_.get(), kWakeup, kOnce)) {
    CHECK(IsShortage(errno)) << "epoll_ctl(wakeup): errno " << errno;
    constexpr timespec kPause = {0, 1'000'000};
    ::nanosleep(&kPause, nullptr);
  }
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

void EventLoop::Dispatch(uint64_t tag, uint32_t events) {
  const int fd = static_cast<int>(static_cast<uint32_t>(tag));
  const auto watch = watches_.find(fd);
  // An earlier callback may have removed or replaced the watch.
  if (watch != watches_.end() && Tag(fd, watch->second.generation) == tag) {
    const std::shared_ptr<OnReady> on_ready = watch->second.on_ready;
    (*on_ready)(events);
    RunDeferred();
  }
}

void EventLoop::Run() {
  constexpr int kBatch = 16;
  epoll_event events[kBatch];
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_.get(), events, kBatch, Timeout());
    CHECK(count >= 0 || errno == EINTR) << "epoll_wait: errno " << errno;
    for (int i = 0; i < count; ++i) {
      Dispatch(events[i].data.u64, events[i].events);
    }
    RunTimers();
    if (count == 0 && !idle_.empty()) {
      Function function = std::move(idle_.front());
      idle_.pop_front();
      function();
    }
    RunDeferred();
  }
  stopping_ = false;
}

void EventLoop::Stop() {
  Post([this] { stopping_ = true; });
}

}  // namespace sandbox

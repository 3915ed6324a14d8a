#include "bridge/acp/remote/poll_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/time/clock.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

constexpr absl::Duration kLongest = absl::Hours(1);

}  // namespace

PollLoop::PollLoop() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wake_.valid()) << "eventfd";
}

PollLoop::~PollLoop() {
  // The last Post() may still be about to leave the lock.
  sandbox::MutexLock lock(&mutex_);
  posted_.clear();
}

void PollLoop::Post(Action action) {
  sandbox::MutexLock lock(&mutex_);
  posted_.push_back(std::move(action));
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the loop wakes anyway.
  (void)!::write(wake_.get(), &one, sizeof one);
}

void PollLoop::After(absl::Duration delay, Action action) {
  timers_.emplace(absl::Now() + delay, std::move(action));
}

void PollLoop::RunOnce(std::vector<pollfd>& descriptors) {
  descriptors.push_back({wake_.get(), POLLIN, 0});
  const timespec timeout = UntilNextTimer();
  if (::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr) < 0) {
    for (pollfd& descriptor : descriptors) {
      descriptor.revents = 0;
    }
  }
  descriptors.pop_back();
  uint64_t posts = 0;
  (void)!::read(wake_.get(), &posts, sizeof posts);
  RunPosted();
  RunTimers();
}

void PollLoop::RunPosted() {
  std::vector<Action> actions;
  {
    sandbox::MutexLock lock(&mutex_);
    actions.swap(posted_);
  }
  for (Action& action : actions) {
    action();
  }
}

void PollLoop::RunTimers() {
  const absl::Time now = absl::Now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto timer = timers_.extract(timers_.begin());
    timer.mapped()();
  }
}

timespec PollLoop::UntilNextTimer() const {
  absl::Duration wait = kLongest;
  if (!timers_.empty()) {
    wait = std::min(wait, timers_.begin()->first - absl::Now());
  }
  return absl::ToTimespec(std::max(wait, absl::ZeroDuration()));
}

}  // namespace bridge

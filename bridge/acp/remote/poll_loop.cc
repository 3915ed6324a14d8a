#include "bridge/acp/remote/poll_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sandbox/base/log.h"

namespace bridge {
namespace {

// How long one call of poll(2) waits at most.
constexpr absl::Duration kLongestWait = absl::Hours(1);

}  // namespace

PollLoop::PollLoop() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wake_.valid()) << "eventfd";
}

PollLoop::~PollLoop() {
  // Waits for a thread that is still leaving Post().
  sandbox::MutexLock lock(&mutex_);
  posted_.clear();
}

void PollLoop::Post(Action action) {
  sandbox::MutexLock lock(&mutex_);
  posted_.push_back(std::move(action));
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the loop wakes up anyway.
  (void)!::write(wake_.get(), &one, sizeof one);
}

size_t PollLoop::posted() const {
  sandbox::MutexLock lock(&mutex_);
  return posted_.size();
}

void PollLoop::After(absl::Duration delay, Action action) {
  timers_.emplace(Clock::now() + absl::ToChronoNanoseconds(delay),
                  std::move(action));
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
  const Clock::time_point now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto timer = timers_.extract(timers_.begin());
    timer.mapped()();
  }
}

timespec PollLoop::UntilNextTimer() const {
  absl::Duration wait = kLongestWait;
  if (!timers_.empty()) {
    wait =
        std::min(wait, absl::FromChrono(timers_.begin()->first - Clock::now()));
  }
  return absl::ToTimespec(std::max(wait, absl::ZeroDuration()));
}

}  // namespace bridge

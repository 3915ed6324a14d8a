#include "sandbox/supervisor/oom_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>

namespace sandbox {
namespace {

// Between an announcement and the kill pass milliseconds, or longer while the
// kernel is busy with others that are out of memory, too.
constexpr absl::Duration kFirstPause = absl::Milliseconds(1);
constexpr absl::Duration kLongestPause = absl::Milliseconds(100);
constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

void OomWatch::Start(UniqueFd events) {
  if (events.valid()) {
    events_ = std::move(events);
    loop_->Watch(events_.get(), EPOLLIN, [this](uint32_t) { OnEvent(); });
  }
}

void OomWatch::Stop() {
  check_.Cancel();
  if (events_.valid()) {
    loop_->Unwatch(events_.get());
    events_.Reset();
  }
}

void OomWatch::OnEvent() {
  eventfd_t announced;
  (void)::eventfd_read(events_.get(), &announced);
  Check(kFirstPause, kPatience);
}

void OomWatch::Check(absl::Duration pause, absl::Duration patience) {
  if (count_() > 0) {
    Stop();
    kill_();
  } else if (patience > absl::ZeroDuration()) {
    check_ = Timer(timers_, pause, [this, pause, patience] {
      Check(std::min(2 * pause, kLongestPause), patience - pause);
    });
  }
}

}  // namespace sandbox

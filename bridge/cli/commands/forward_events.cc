#include "bridge/cli/commands/forward_events.h"

#include <utility>

namespace bridge {

using sandbox::MutexLock;

void ForwardEvents::OnSignal() { Set(Event::kEnd, absl::OkStatus()); }

void ForwardEvents::OnServerGone() {
  Set(Event::kServerGone, absl::OkStatus());
}

void ForwardEvents::OnFailure(const absl::Status& why) {
  if (absl::IsNotFound(why)) {
    Set(Event::kEnd, why);
  }
}

ForwardEvents::Event ForwardEvents::Next() {
  MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return event_ != Event::kNone;
  });
  return event_ == Event::kEnd ? Event::kEnd
                               : std::exchange(event_, Event::kNone);
}

bool ForwardEvents::ended() {
  MutexLock lock(&mutex_);
  return event_ == Event::kEnd;
}

absl::Status ForwardEvents::why() {
  MutexLock lock(&mutex_);
  return why_;
}

void ForwardEvents::Set(Event event, const absl::Status& why) {
  MutexLock lock(&mutex_);
  if (event_ != Event::kEnd) {
    event_ = event;
    why_ = why;
  }
  mutex_.Signal();
}

}  // namespace bridge

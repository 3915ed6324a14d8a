#include "server/core/viewers.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;

std::shared_ptr<Viewers> Viewers::Create(TimerQueue* timers,
                                         std::function<void()> unwatched) {
  // make_shared cannot reach the constructor.
  return std::shared_ptr<Viewers>(new Viewers(timers, std::move(unwatched)));
}

Viewers::~Viewers() {
  MutexLock lock(&mutex_);
  timers_->Cancel(timer_);
}

void Viewers::Begin() {
  MutexLock lock(&mutex_);
  ++present_;
  ++visits_;
  timers_->Cancel(timer_);
}

void Viewers::End() {
  MutexLock lock(&mutex_);
  --present_;
  if (present_ == 0) {
    timer_ = timers_->RunAfter(
        kPatience, [weak = weak_from_this(), visits = visits_] {
          if (const auto self = weak.lock(); self != nullptr) {
            self->OnTimer(visits);
          }
        });
  }
}

void Viewers::OnTimer(uint64_t visits) {
  {
    MutexLock lock(&mutex_);
    if (visits != visits_) {
      return;  // somebody came as the timer ran
    }
  }
  unwatched_();
}

}  // namespace server

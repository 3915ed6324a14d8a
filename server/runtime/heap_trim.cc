#include "server/runtime/heap_trim.h"

#include <malloc.h>

namespace server {

HeapTrim::HeapTrim(TimerQueue* timers, WorkerPool* lane)
    : HeapTrim(timers, lane, [] { ::malloc_trim(0); }) {}

void HeapTrim::OnFreed() {
  if (++records_ != kRecords) {
    return;
  }
  timers_->RunAfter(kDelay, [this] {
    lane_->Run([this] {
      records_ = 0;
      trim_();
    });
  });
}

}  // namespace server

// Gives memory back to the kernel after much of it was freed. The allocator
// keeps what lies between blocks that are in use, which for ten thousand
// records is most of it.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_RUNTIME_HEAP_TRIM_H_
#define SERVER_RUNTIME_HEAP_TRIM_H_

#include <atomic>
#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "server/runtime/timer_queue.h"
#include "server/runtime/worker_pool.h"

namespace server {

class HeapTrim {
 public:
  // A trim runs kDelay after kRecords records were freed.
  static constexpr int kRecords = 1000;
  static constexpr absl::Duration kDelay = absl::Seconds(2);

  // Runs malloc_trim(3), which may take some milliseconds, or `trim`, on
  // `lane`. Both must outlive this object, and stop before it is destroyed.
  HeapTrim(TimerQueue* timers, WorkerPool* lane);
  HeapTrim(TimerQueue* timers, WorkerPool* lane, std::function<void()> trim)
      : timers_(timers), lane_(lane), trim_(std::move(trim)) {}

  // Called when a record of some kilobytes was freed, or will be soon.
  void OnFreed();

 private:
  TimerQueue* const timers_;
  WorkerPool* const lane_;
  const std::function<void()> trim_;
  // Records that were freed since the last trim.
  std::atomic<int> records_ = 0;
};

}  // namespace server

#endif  // SERVER_RUNTIME_HEAP_TRIM_H_

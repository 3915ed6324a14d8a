// Drops the output of an execution when it has expired: see
// OutputPolicy.keep_after_end.

#ifndef SERVER_CORE_OUTPUT_EXPIRY_H_
#define SERVER_CORE_OUTPUT_EXPIRY_H_

#include <memory>

#include "server/core/execution.h"
#include "server/runtime/timer_queue.h"
#include "server/runtime/worker_pool.h"

namespace server {

// Drops the output of an ended execution when its expire time comes. Does
// nothing if the output does not expire. To be called once for each execution.
//
// The wall clock is read now and not again: the wait uses the monotonic clock,
// and never lasts longer than keep_after_end. Failures are retried. `timers`
// and `workers` must outlive the wait, or stop before they are destroyed.
void ExpireOutput(const std::shared_ptr<Execution>& execution,
                  TimerQueue* timers, WorkerPool* workers);

}  // namespace server

#endif  // SERVER_CORE_OUTPUT_EXPIRY_H_

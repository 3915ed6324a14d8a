// Drops the output of an execution when it has expired: see
// OutputPolicy.keep_after_end.

#ifndef SERVER_CORE_OUTPUT_EXPIRY_H_
#define SERVER_CORE_OUTPUT_EXPIRY_H_

#include <memory>

#include "server/core/execution.h"
#include "server/runtime/timer_queue.h"
#include "server/runtime/worker_pool.h"

namespace server {

// Of an execution that has ended; once. Does nothing if its output does not
// expire. The clock is looked at now; the wait is monotonic, and never longer
// than keep_after_end. What fails is tried again. Both must outlive the wait,
// or stop before they end.
void ExpireOutput(const std::shared_ptr<Execution>& execution,
                  TimerQueue* timers, WorkerPool* workers);

}  // namespace server

#endif  // SERVER_CORE_OUTPUT_EXPIRY_H_

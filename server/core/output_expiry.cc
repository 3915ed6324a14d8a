#include "server/core/output_expiry.h"

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/log.h"
#include "sandbox/storage/output_log.h"
#include "server/api/conversion.h"
#include "server/core/execution.h"
#include "server/runtime/timer_queue.h"
#include "server/runtime/worker_pool.h"

namespace server {
namespace {

using google::protobuf::util::TimeUtil;

constexpr absl::Duration kRetry = absl::Minutes(1);

// Drops the output and updates what is known of the logs. Returns true if no
// output is left.
bool Expire(Execution* execution) {
  bool done = true;
  for (const corral::v1::Stream stream : StreamsOf(execution->command())) {
    const absl::Status expired =
        sandbox::ExpireOutputLog(execution->path(), ToWire(stream));
    if (!expired.ok() && !absl::IsNotFound(expired)) {
      LOG(ERROR) << execution->name()
                 << ": cannot drop expired output: " << expired.message();
      done = false;
    }
  }
  const absl::Status read = execution->ReadLogs();
  if (!read.ok()) {
    LOG(ERROR) << execution->name()
               << ": cannot read its logs: " << read.message();
  }
  execution->Notify();
  return done;
}

void ExpireAfter(absl::Duration delay, const std::weak_ptr<Execution>& weak,
                 TimerQueue* timers, WorkerPool* workers) {
  timers->RunAfter(delay, [weak, timers, workers] {
    workers->Run([weak, timers, workers] {
      const std::shared_ptr<Execution> execution = weak.lock();
      if (execution != nullptr && !Expire(execution.get())) {
        ExpireAfter(kRetry, weak, timers, workers);
      }
    });
  });
}

}  // namespace

void ExpireOutput(const std::shared_ptr<Execution>& execution,
                  TimerQueue* timers, WorkerPool* workers) {
  const auto expire_time = execution->output_expire_time();
  if (!expire_time.has_value()) {
    return;
  }
  const absl::Duration keep = absl::Nanoseconds(TimeUtil::DurationToNanoseconds(
      execution->command().output().keep_after_end()));
  const absl::Duration left =
      absl::FromUnixNanos(TimeUtil::TimestampToNanoseconds(*expire_time)) -
      absl::Now();
  ExpireAfter(std::clamp(left, absl::ZeroDuration(), keep), execution, timers,
              workers);
}

}  // namespace server

// What all logs of one sandbox may take on the disk together. When it is used
// up, the output of ended executions is dropped, of the one that ended first
// before others; then the largest running logs whose policy lets them drop
// more; then nothing is left, and the others' policies count.
//
// For the event loop's thread.

#ifndef SANDBOX_SUPERVISOR_OUTPUT_QUOTA_H_
#define SANDBOX_SUPERVISOR_OUTPUT_QUOTA_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <utility>

#include "sandbox/base/event_loop.h"

namespace sandbox {

// A log that is being written.
class QuotaLog {
 public:
  // What it may drop, whatever it keeps; 0 when it may drop nothing.
  virtual uint64_t droppable_bytes() const = 0;
  // Keeps no more than about `bytes`.
  virtual void Trim(uint64_t bytes) = 0;
  // There is room again.
  virtual void Resume() = 0;

 protected:
  ~QuotaLog() = default;
};

class OutputQuota {
 public:
  explicit OutputQuota(EventLoop* loop) : loop_(loop) {}
  OutputQuota(const OutputQuota&) = delete;
  OutputQuota& operator=(const OutputQuota&) = delete;

  // 0: no limit, as in the beginning.
  void SetLimit(uint64_t bytes) { limit_ = bytes; }

  void Add(QuotaLog* log) { logs_.insert(log); }
  void Remove(QuotaLog* log);

  // An execution has ended: `expire` drops its output, and takes it off with
  // Charge().
  void AddEnded(const void* execution, std::function<void()> expire);
  void RemoveEnded(const void* execution);

  // Disk use grew, or fell.
  void Charge(int64_t bytes);

  // A log that could drop nothing may drop something: who waits tries again.
  void OnDroppable();

  // How much more may be written. What can be dropped was, when this is 0;
  // `log` is resumed when there is room then.
  uint64_t MakeRoom(QuotaLog* log);

 private:
  uint64_t Left() const { return limit_ > used_ ? limit_ - used_ : 0; }
  void ExpireEnded(uint64_t target);
  void TrimLogs(uint64_t target);
  void ResumeAll();

  EventLoop* const loop_;
  uint64_t limit_ = 0;
  uint64_t used_ = 0;
  std::set<QuotaLog*> logs_;
  std::set<QuotaLog*> waiting_;
  bool resuming_ = false;
  std::deque<std::pair<const void*, std::function<void()>>> ended_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OUTPUT_QUOTA_H_

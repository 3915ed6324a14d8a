// Limits the disk space of all logs of one sandbox together. When it is used
// up, the output of ended executions is dropped, the oldest end first; then the
// largest running logs drop data if their policy allows it; after that no space
// is left, and each log follows its policy for a full log.
//
// Used on the event loop's thread only.

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
  // The bytes that it could drop at most; 0 if its policy allows no drop.
  virtual uint64_t droppable_bytes() const = 0;
  // Keeps no more than about `bytes`.
  virtual void Trim(uint64_t bytes) = 0;
  // Called when there is room again.
  virtual void Resume() = 0;

 protected:
  ~QuotaLog() = default;
};

class OutputQuota {
 public:
  explicit OutputQuota(EventLoop* loop) : loop_(loop) {}
  OutputQuota(const OutputQuota&) = delete;
  OutputQuota& operator=(const OutputQuota&) = delete;

  // 0: no limit, which is the default.
  void SetLimit(uint64_t bytes) { limit_ = bytes; }

  void Add(QuotaLog* log) { logs_.insert(log); }
  void Remove(QuotaLog* log) { logs_.erase(log); }

  // An execution has ended. `expire` drops its output, and calls Charge() with
  // the freed bytes as a negative number.
  void AddEnded(const void* execution, std::function<void()> expire);
  void RemoveEnded(const void* execution);
  // `expire` does the same for the first one of further executions, which ended
  // before those of AddEnded(). Returns false if there is none.
  void SetEarlier(std::function<bool()> expire) {
    expire_earlier_ = std::move(expire);
  }

  // The disk use has changed by `bytes`.
  void Charge(int64_t bytes);

  // A log can drop data that it could not drop before: waiting logs try again.
  void OnDroppable();

  // Returns how many bytes may be written, and drops what can be dropped if
  // none may. After 0, `log` is resumed when there is room.
  uint64_t MakeRoom(QuotaLog* log);

 private:
  uint64_t Left() const { return limit_ > used_ ? limit_ - used_ : 0; }
  void ExpireEnded(uint64_t target);
  bool ExpireFirst();
  void TrimLogs(uint64_t target);
  void ResumeAll();

  EventLoop* const loop_;
  uint64_t limit_ = 0;
  uint64_t used_ = 0;
  std::set<QuotaLog*> logs_;
  // Those that wait for room, and perhaps some that were removed since.
  std::set<QuotaLog*> waiting_;
  bool resuming_ = false;
  std::function<bool()> expire_earlier_ = [] { return false; };
  std::deque<std::pair<const void*, std::function<void()>>> ended_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OUTPUT_QUOTA_H_

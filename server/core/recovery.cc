#include "server/core/recovery.h"

#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/mutex.h"

namespace server {

using corral::supervisor::v1::ExecutionRecord;
using corral::supervisor::v1::Snapshot;
using sandbox::MutexLock;

bool Recovery::BeginReading() {
  MutexLock lock(&mutex_);
  if (phase_ != Phase::kUnread) {
    return false;
  }
  phase_ = Phase::kReading;
  return true;
}

bool Recovery::MayGiveUp(const absl::Status& unreadable) {
  MutexLock lock(&mutex_);
  return !absl::IsResourceExhausted(unreadable) &&
         ++failed_reads_ >= kReadAttempts;
}

void Recovery::AfterReading(absl::AnyInvocable<void()> function) {
  {
    MutexLock lock(&mutex_);
    if (phase_ == Phase::kUnread || phase_ == Phase::kReading) {
      after_reading_.push_back(std::move(function));
      return;
    }
  }
  function();
}

bool Recovery::FinishReading(bool complete) {
  std::vector<absl::AnyInvocable<void()>> after;
  bool merges;
  {
    MutexLock lock(&mutex_);
    if (phase_ != Phase::kReading) {
      return false;
    }
    incomplete_ = !complete;
    merges = has_snapshot_;
    phase_ = merges ? Phase::kMerging : Phase::kAwaitingSnapshot;
    after.swap(after_reading_);
  }
  for (absl::AnyInvocable<void()>& function : after) {
    function();
  }
  return merges;
}

bool Recovery::KeepSnapshot(const Snapshot& snapshot) {
  MutexLock lock(&mutex_);
  if (phase_ == Phase::kDone) {
    return false;
  }
  has_snapshot_ = true;
  for (const ExecutionRecord& record : snapshot.executions()) {
    reports_[record.id()] = record;
  }
  if (phase_ != Phase::kAwaitingSnapshot) {
    return false;
  }
  phase_ = Phase::kMerging;
  return true;
}

bool Recovery::KeepReport(const ExecutionRecord& record) {
  MutexLock lock(&mutex_);
  if (phase_ == Phase::kDone) {
    return false;
  }
  reports_[record.id()] = record;
  return true;
}

Recovery::Reports Recovery::TakeReports() {
  MutexLock lock(&mutex_);
  if (reports_.empty()) {
    phase_ = Phase::kDone;
  }
  return std::exchange(reports_, {});
}

void Recovery::Abandon() {
  std::vector<absl::AnyInvocable<void()>> dropped;  // without the lock
  MutexLock lock(&mutex_);
  phase_ = Phase::kDone;
  reports_.clear();
  dropped.swap(after_reading_);
}

bool Recovery::has_records() const {
  MutexLock lock(&mutex_);
  switch (phase_) {
    case Phase::kUnread:
    case Phase::kReading:
      return false;
    case Phase::kAwaitingSnapshot:
    case Phase::kMerging:
      return !incomplete_;
    case Phase::kDone:
      return true;
  }
  return true;
}

}  // namespace server

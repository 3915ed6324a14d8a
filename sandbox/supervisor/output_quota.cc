#include "sandbox/supervisor/output_quota.h"

#include <algorithm>
#include <vector>

namespace sandbox {
namespace {

// Logs are cut to this far below the limit, so that they are cut seldom: each
// hole costs the file system a journal entry.
constexpr uint64_t kMaxSlack = uint64_t{8} << 20;

uint64_t Slack(uint64_t limit) { return std::min(limit / 16, kMaxSlack); }

// The size to which all larger ones must shrink so that the sum is `total`.
uint64_t FairShare(std::vector<uint64_t> sizes, uint64_t total) {
  std::sort(sizes.begin(), sizes.end());
  size_t left = sizes.size();
  for (const uint64_t size : sizes) {
    const uint64_t share = total / left;
    if (size > share) {
      return share;
    }
    total -= size;
    --left;
  }
  return UINT64_MAX;
}

}  // namespace

void OutputQuota::AddEnded(const void* execution,
                           std::function<void()> expire) {
  ended_.emplace_back(execution, std::move(expire));
}

void OutputQuota::RemoveEnded(const void* execution) {
  ended_.erase(std::remove_if(ended_.begin(), ended_.end(),
                              [execution](const auto& ended) {
                                return ended.first == execution;
                              }),
               ended_.end());
}

void OutputQuota::Charge(int64_t bytes) {
  used_ += static_cast<uint64_t>(bytes);
  if (bytes < 0) {
    OnDroppable();
  }
}

void OutputQuota::OnDroppable() {
  if (!waiting_.empty() && !resuming_) {
    // Deferred, because the log that dropped data is on the stack.
    resuming_ = true;
    loop_->Defer([this] { ResumeAll(); });
  }
}

void OutputQuota::ResumeAll() {
  resuming_ = false;
  const std::set<QuotaLog*> waiting = std::exchange(waiting_, {});
  for (QuotaLog* log : waiting) {
    if (logs_.count(log) != 0) {  // else it was removed meanwhile
      log->Resume();
    }
  }
}

uint64_t OutputQuota::MakeRoom(QuotaLog* log) {
  if (limit_ == 0) {
    return UINT64_MAX;
  }
  if (Left() == 0) {
    const uint64_t target = limit_ - Slack(limit_);
    ExpireEnded(target);
    TrimLogs(target);
  }
  if (Left() == 0) {
    waiting_.insert(log);
  }
  return Left();
}

void OutputQuota::ExpireEnded(uint64_t target) {
  while (used_ > target && (expire_earlier_() || ExpireFirst())) {
  }
}

bool OutputQuota::ExpireFirst() {
  if (ended_.empty()) {
    return false;
  }
  const std::function<void()> expire = std::move(ended_.front().second);
  ended_.pop_front();
  expire();
  return true;
}

void OutputQuota::TrimLogs(uint64_t target) {
  std::vector<uint64_t> sizes;
  uint64_t droppable = 0;
  for (const QuotaLog* log : logs_) {
    sizes.push_back(log->droppable_bytes());
    droppable += sizes.back();
  }
  const uint64_t others = used_ - std::min(used_, droppable);
  const uint64_t share =
      FairShare(std::move(sizes), target > others ? target - others : 0);
  for (QuotaLog* log : std::set<QuotaLog*>(logs_)) {
    if (log->droppable_bytes() > share) {
      log->Trim(share);
    }
  }
}

}  // namespace sandbox

#include "sandbox/supervisor/record_sync.h"

namespace sandbox {
namespace {

// Many are synced at the cost of one, and what is deleted by then for nothing.
constexpr absl::Duration kGather = absl::Milliseconds(100);
constexpr absl::Duration kRetry = absl::Milliseconds(200);
// Bounds the descriptors, and how long the thread takes to end.
constexpr size_t kBatch = 64;

}  // namespace

RecordSync::RecordSync(EventLoop* loop, StorageStatus* storage)
    : loop_(loop), storage_(storage) {}

RecordSync::~RecordSync() {
  Stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void RecordSync::Stop() {
  if (timer_.has_value()) {
    loop_->Cancel(*timer_);
    timer_.reset();
  }
  jobs_.clear();
  MutexLock lock(&mutex_);
  stop_ = true;
  mutex_.Signal();
}

void RecordSync::SyncStart(const std::string& directory) {
  jobs_.try_emplace(directory);
  Schedule(kGather);
}

void RecordSync::SyncEnd(const std::string& directory, std::string end) {
  jobs_[directory].end = std::move(end);
  Schedule(kGather);
}

void RecordSync::Cancel(const std::string& directory) {
  jobs_.erase(directory);
  failures_.erase(directory);
  UpdateStorage();
  if (busy_) {
    MutexLock lock(&mutex_);
    cancelled_.insert(directory);
  }
}

void RecordSync::Schedule(absl::Duration delay) {
  if (!timer_.has_value() && !busy_ && !jobs_.empty()) {
    timer_ = loop_->After(delay, [this] {
      timer_.reset();
      HandOver();
    });
  }
}

void RecordSync::HandOver() {
  Jobs batch;
  // Goes around, so that each has its turn however many come.
  while (!jobs_.empty() && batch.size() < kBatch) {
    auto next = jobs_.upper_bound(last_);
    if (next == jobs_.end()) {
      next = jobs_.begin();
    }
    last_ = next->first;
    batch.insert(jobs_.extract(next));
  }
  if (batch.empty()) {
    return;
  }
  busy_ = true;
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Run(); });
  }
  MutexLock lock(&mutex_);
  cancelled_.clear();
  handed_over_ = std::move(batch);
  mutex_.Signal();
}

void RecordSync::Run() {
  while (true) {
    Jobs jobs;
    {
      MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return stop_ || !handed_over_.empty();
      });
      if (stop_) {
        return;
      }
      jobs.swap(handed_over_);
    }
    Failures failures = Sync(jobs);
    loop_->Post([this, jobs = std::move(jobs),
                 failures = std::move(failures)]() { OnDone(jobs, failures); });
  }
}

bool RecordSync::Cancelled(const std::string& directory) {
  MutexLock lock(&mutex_);
  return stop_ || cancelled_.count(directory) != 0;
}

RecordSync::Opened RecordSync::Open(const Jobs& jobs, Failures* failures) {
  Opened opened;
  // Under the lock: another execution may get the name of one that was deleted.
  MutexLock lock(&mutex_);
  for (const auto& [directory, job] : jobs) {
    if (stop_ || cancelled_.count(directory) != 0) {
      continue;
    }
    absl::StatusOr<DurableExecution> execution =
        DurableExecution::Open(directory);
    if (execution.ok()) {
      opened.emplace(directory, *std::move(execution));
    } else if (!absl::IsNotFound(execution.status())) {
      failures->emplace(directory, execution.status());
    }
  }
  return opened;
}

RecordSync::Failures RecordSync::Sync(const Jobs& jobs) {
  Failures failures;
  const Opened opened = Open(jobs, &failures);
  // One step of all of them, then the next: the first sync of each step takes
  // most of the others' data along.
  const auto step = [&](auto action) {
    for (const auto& [directory, execution] : opened) {
      if (failures.count(directory) != 0 || Cancelled(directory)) {
        continue;
      }
      const absl::Status done = action(execution, jobs.at(directory));
      // NotFound: it is being deleted.
      if (!done.ok() && !absl::IsNotFound(done)) {
        failures.emplace(directory, done);
      }
    }
  };
  step([](const DurableExecution& execution, const Job& job) {
    return execution.SyncFiles(job.end, job.tried);
  });
  step([this](const DurableExecution& execution, const Job& job) {
    // Under the lock: no name appears any more in what is being deleted.
    MutexLock lock(&mutex_);
    return job.end.empty() || stop_ ? absl::OkStatus() : execution.Publish();
  });
  step([](const DurableExecution& execution, const Job&) {
    return execution.SyncDirectory();
  });
  return failures;
}

void RecordSync::OnDone(const Jobs& jobs, const Failures& failures) {
  busy_ = false;
  for (const auto& [directory, job] : jobs) {
    const auto failed = failures.find(directory);
    if (failed == failures.end() || Cancelled(directory)) {
      failures_.erase(directory);
      continue;
    }
    failures_[directory] = failed->second;
    Job& again = jobs_[directory];
    again.tried = true;
    if (again.end.empty()) {
      again.end = job.end;
    }
  }
  UpdateStorage();
  // A batch that is full waits for nothing more.
  const absl::Duration gather =
      jobs_.size() < kBatch ? kGather : absl::ZeroDuration();
  Schedule(failures.empty() ? gather : kRetry);
}

void RecordSync::UpdateStorage() {
  if (failures_.empty()) {
    storage_->Succeed(this);
  } else {
    storage_->Fail(this, "records", failures_.begin()->second);
  }
}

}  // namespace sandbox

#include "sandbox/supervisor/record_sync.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// The wait for further executions: a batch costs little more than one, and an
// execution that is deleted meanwhile costs nothing.
constexpr absl::Duration kGather = absl::Milliseconds(100);
// A start waits for one to two of these: most commands end meanwhile, and one
// sync does for both records.
constexpr absl::Duration kTerm = absl::Milliseconds(500);
constexpr absl::Duration kRetry = absl::Milliseconds(200);
// Bounds how long the destructor waits, and the descriptors: as many files may
// be held by jobs that wait while a batch is synced.
constexpr size_t kBatch = 64;

std::string ParentOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Syncs what a server needs to find the executions of a sandbox.
absl::Status SyncDescription(const std::string& sandbox) {
  RETURN_IF_ERROR(SyncFile(sandbox + "/spec.pb"));
  for (const std::string& directory : {sandbox, ParentOf(sandbox)}) {
    ASSIGN_OR_RETURN(const UniqueFd opened, OpenDirectory(directory));
    RETURN_IF_ERROR(SyncNames(opened));
  }
  return absl::OkStatus();
}

}  // namespace

RecordSync::RecordSync(EventLoop* loop, Timers* timers, StorageStatus* storage,
                       std::unique_ptr<Background> background)
    : loop_(loop),
      timers_(timers),
      storage_(storage),
      background_(std::move(background)) {}

RecordSync::~RecordSync() { Stop(); }

void RecordSync::Stop() {
  timer_.Cancel();
  term_.Cancel();
  starts_.clear();
  earlier_starts_.clear();
  jobs_.clear();
  MutexLock lock(&mutex_);
  stop_ = true;
}

void RecordSync::SyncStart(const std::string& path) {
  starts_.insert(path);
  UpdateTerm();
}

void RecordSync::SyncEnd(const std::string& path, std::string end,
                         std::shared_ptr<const ExecutionFile> silent) {
  ForgetStart(path);
  Job& job = jobs_[path];
  job.end = std::move(end);
  job.has_output = silent == nullptr;
  if (jobs_.size() <= kBatch) {
    job.file = std::move(silent);
  }
  Schedule(kGather);
}

void RecordSync::Cancel(const std::string& path) {
  ForgetStart(path);
  jobs_.erase(path);
  failures_.erase(path);
  UpdateStorage();
  if (busy_) {
    MutexLock lock(&mutex_);
    cancelled_.insert(path);
  }
}

void RecordSync::Schedule(absl::Duration delay) {
  if (!timer_.pending() && !busy_ && !jobs_.empty()) {
    timer_ = Timer(timers_, delay, [this] { HandOver(); });
  }
}

void RecordSync::UpdateTerm() {
  if (starts_.empty() && earlier_starts_.empty()) {
    term_.Cancel();
  } else if (!term_.pending()) {
    term_ = Timer(timers_, kTerm, [this] { EndTerm(); });
  }
}

void RecordSync::EndTerm() {
  for (const std::string& path : earlier_starts_) {
    jobs_.try_emplace(path);
  }
  earlier_starts_ = std::exchange(starts_, {});
  Schedule(kGather);
  UpdateTerm();
}

void RecordSync::ForgetStart(const std::string& path) {
  starts_.erase(path);
  earlier_starts_.erase(path);
  UpdateTerm();
}

void RecordSync::HandOver() {
  Jobs batch;
  // Round-robin by id: each gets its turn, however many others come.
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
  {
    MutexLock lock(&mutex_);
    cancelled_.clear();
  }
  background_->Run([this, jobs = std::move(batch)]() mutable {
    Failures failures = Sync(jobs);
    // Not on the loop's thread: closing a deleted file may wait for the disk.
    for (auto& [path, job] : jobs) {
      job.file.reset();
    }
    loop_->Post([this, jobs = std::move(jobs), failures = std::move(failures)] {
      OnDone(jobs, failures);
    });
  });
}

bool RecordSync::Cancelled(const std::string& path) {
  MutexLock lock(&mutex_);
  return stop_ || cancelled_.count(path) != 0;
}

absl::StatusOr<DurableExecution> RecordSync::Open(const std::string& path,
                                                  const Job& job) {
  if (job.has_output) {
    return DurableExecution::Open(path);
  }
  return job.file == nullptr ? DurableExecution::OpenWithoutOutput(path)
                             : DurableExecution::WithoutOutput(job.file);
}

RecordSync::Opened RecordSync::OpenAll(const Jobs& jobs, Failures* failures) {
  Opened opened;
  // Under the lock: another execution may get the name of a deleted one.
  MutexLock lock(&mutex_);
  for (const auto& [path, job] : jobs) {
    if (stop_ || cancelled_.count(path) != 0) {
      continue;
    }
    absl::StatusOr<DurableExecution> execution = Open(path, job);
    if (execution.ok()) {
      opened.emplace(path, *std::move(execution));
    } else if (!absl::IsNotFound(execution.status())) {
      failures->emplace(path, execution.status());
    }
  }
  return opened;
}

absl::Status RecordSync::SyncAllNames(const std::string& executions) {
  if (!executions_.valid()) {
    ASSIGN_OR_RETURN(executions_, OpenDirectory(executions));
  }
  RETURN_IF_ERROR(SyncNames(executions_));
  if (!described_) {
    RETURN_IF_ERROR(SyncDescription(ParentOf(executions)));
    described_ = true;
  }
  return absl::OkStatus();
}

RecordSync::Failures RecordSync::Sync(const Jobs& jobs) {
  Failures failures;
  const Opened opened = OpenAll(jobs, &failures);
  // One step for all executions, then the next: the first sync of each step
  // writes most of the data of the others.
  const auto step = [&](auto action) {
    for (const auto& [path, execution] : opened) {
      if (failures.count(path) != 0 || Cancelled(path)) {
        continue;
      }
      const absl::Status done = action(execution, jobs.at(path));
      // NotFound: the whole sandbox is being deleted.
      if (!done.ok() && !absl::IsNotFound(done)) {
        failures.emplace(path, done);
      }
    }
  };
  step([](const DurableExecution& execution, const Job& job) {
    return execution.SyncFiles(job.end, job.rewrite);
  });
  if (!opened.empty()) {
    // All names are in one path.
    const absl::Status named = SyncAllNames(ParentOf(opened.begin()->first));
    step([&named](const DurableExecution&, const Job&) { return named; });
  }
  step([](const DurableExecution& execution, const Job& job) {
    return job.end.empty() || !job.has_output ? absl::OkStatus()
                                              : execution.Confirm();
  });
  return failures;
}

void RecordSync::OnDone(const Jobs& jobs, const Failures& failures) {
  busy_ = false;
  for (const auto& [path, job] : jobs) {
    const auto failed = failures.find(path);
    if (failed == failures.end() || Cancelled(path)) {
      failures_.erase(path);
      if (!job.end.empty() && !Cancelled(path)) {
        synced_(path);
      }
      continue;
    }
    failures_[path] = failed->second;
    Job& again = jobs_[path];
    again.rewrite = true;
    if (again.end.empty()) {
      again.end = job.end;
      again.has_output = job.has_output;
    }
  }
  UpdateStorage();
  // A full batch need not wait for more.
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

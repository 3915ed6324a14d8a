#include "sandbox/supervisor/ended_reading.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/supervisor/ended_files.h"
#include "sandbox/supervisor/forgotten_executions.h"

namespace sandbox {
namespace {

// The delay between attempts to read from a disk that fails.
constexpr absl::Duration kRetry = absl::Milliseconds(200);

}  // namespace

EndedReading::EndedReading(EventLoop* loop, Timers* timers,
                           StorageStatus* storage,
                           MakeBackground make_background)
    : loop_(loop),
      timers_(timers),
      storage_(storage),
      make_background_(std::move(make_background)) {}

EndedReading::~EndedReading() { Stop(); }

void EndedReading::Read(Wanted wanted, Done done) {
  done_ = std::move(done);
  stop_ = std::make_shared<std::atomic<bool>>(false);
  background_ = make_background_();
  auto job = std::make_shared<Job>();
  job->wanted = std::move(wanted);
  HandOver(std::move(job));
}

void EndedReading::Stop() {
  if (!busy()) {
    return;
  }
  *stop_ = true;
  retry_.Cancel();
  background_.reset();
  storage_->Succeed(this);
}

void EndedReading::HandOver(std::shared_ptr<Job> job) {
  background_->Run([this, stop = stop_, job = std::move(job)] {
    Run(*stop, job.get());
    loop_->Post([this, stop, job] {
      if (!*stop) {
        OnDone(job);
      }
    });
  });
}

void EndedReading::Run(const std::atomic<bool>& stop, Job* job) {
  job->failure = absl::OkStatus();
  if (!job->listed) {
    ListIds(job);
  }
  std::vector<std::string> unread;
  for (std::string& id : job->ids) {
    if (stop) {
      return;
    }
    absl::StatusOr<wire::ExecutionRecord> end =
        ReadEnded(job->wanted.directory, id);
    if (end.ok()) {
      *job->reports.add_executions() = *std::move(end);
    } else if (!absl::IsNotFound(end.status())) {
      job->failure.Update(end.status());
      unread.push_back(std::move(id));
    }
  }
  job->ids = std::move(unread);
}

void EndedReading::ListIds(Job* job) {
  const Wanted& wanted = job->wanted;
  absl::StatusOr<std::vector<std::string>> ids =
      ListExecutions(wanted.directory);
  if (!ids.ok()) {
    job->failure = ids.status();
    return;
  }
  for (std::string& id : *ids) {
    if (wanted.others.count(id) == 0 &&
        std::binary_search(wanted.hashes.begin(), wanted.hashes.end(),
                           ForgottenExecutions::HashOf(id))) {
      job->ids.push_back(std::move(id));
    }
  }
  job->listed = true;
}

void EndedReading::OnDone(const std::shared_ptr<Job>& job) {
  if (!job->failure.ok()) {
    storage_->Fail(this, "records of ended executions", job->failure);
    retry_ = Timer(timers_, kRetry, [this, job] { HandOver(job); });
    return;
  }
  Stop();
  const Done done = std::move(done_);
  done(std::move(job->reports));
}

}  // namespace sandbox

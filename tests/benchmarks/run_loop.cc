#include "tests/benchmarks/run_loop.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/corral.h"

namespace tests {
namespace {

using ::corral::v1::ExecutionAnswer;
using ::corral::v1::RunExecutionsRequest;
using ::corral::v1::RunExecutionsResponse;
using ::corral::v1::StartExecutionRequest;
using ::sandbox::MutexLock;

constexpr absl::Duration kPatience = absl::Minutes(2);
// The largest number in one request.
constexpr int kMaxStarts = 100;

class Loop : public grpc::ClientBidiReactor<RunExecutionsRequest,
                                            RunExecutionsResponse> {
 public:
  Loop(const RunLoad& load, absl::Time end, size_t most)
      : end_(end), most_(most) {
    for (const std::string& sandbox : load.sandboxes) {
      StartExecutionRequest start;
      start.set_parent(sandbox);
      for (const std::string& argument : load.argv) {
        start.mutable_command()->add_argv(argument);
      }
      starts_.push_back(std::move(start));
    }
    for (size_t i = 0; i < load.depth; ++i) {
      for (size_t sandbox = 0; sandbox < load.sandboxes.size(); ++sandbox) {
        wanted_.push_back(sandbox);
      }
    }
  }

  void Start(corral::v1::ExecutionService::Stub& client) {
    context_.set_deadline(absl::ToChronoTime(end_ + kPatience));
    client.async()->RunExecutions(&context_, this);
    StartRead(&response_);
    {
      MutexLock lock(&mutex_);
      MaybeWrite();
    }
    StartCall();
  }

  // Waits for the end of the call. Returns the number of commands.
  absl::StatusOr<size_t> Await() {
    MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return done_; });
    if (!status_.ok()) {
      return status_;
    }
    return started_.size();
  }

  void OnWriteDone(bool /*ok*/) override {
    MutexLock lock(&mutex_);
    writing_ = false;
    MaybeWrite();
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      return;
    }
    {
      MutexLock lock(&mutex_);
      for (const ExecutionAnswer& answer : response_.answers()) {
        status_.Update(answer.has_ended()
                           ? CheckEnd(answer.ended())
                           : absl::InternalError(answer.error().message()));
        wanted_.push_back(started_[answer.start_number()]);
      }
      MaybeWrite();
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(&mutex_);
    status_.Update(FromGrpc(status));
    done_ = true;
    mutex_.Signal();
  }

 private:
  void MaybeWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || closed_) {
      return;
    }
    if (started_.size() == most_ || absl::Now() > end_ || !status_.ok()) {
      closed_ = true;
      StartWritesDone();
    } else if (!wanted_.empty()) {
      request_.clear_starts();
      while (!wanted_.empty() && request_.starts_size() < kMaxStarts &&
             started_.size() < most_) {
        started_.push_back(wanted_.front());
        wanted_.pop_front();
        *request_.add_starts() = starts_[started_.back()];
      }
      writing_ = true;
      StartWrite(&request_);
    }
  }

  const absl::Time end_;
  const size_t most_;
  grpc::ClientContext context_;
  // By sandbox.
  std::vector<StartExecutionRequest> starts_;
  RunExecutionsResponse response_;

  sandbox::Mutex mutex_;
  // gRPC reads it during a write.
  RunExecutionsRequest request_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  // The sandboxes that have room for a command.
  std::deque<size_t> wanted_ ABSL_GUARDED_BY(mutex_);
  // The sandbox of each start.
  std::vector<size_t> started_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<double> RunLoop(corral::v1::ExecutionService::Stub& client,
                               const RunLoad& load, absl::Duration time,
                               size_t most) {
  const absl::Time begin = absl::Now();
  Loop loop(load, begin + time, most);
  loop.Start(client);
  ASSIGN_OR_RETURN(const size_t count, loop.Await());
  return static_cast<double>(count) /
         absl::ToDoubleSeconds(absl::Now() - begin);
}

}  // namespace tests

// One call of RunExecutions: many commands of one caller.
//
// Events (a request came, a command has started or ended, answers are written,
// the call was cancelled, the server ends) come on any thread. Each changes a
// field and calls MaybeAdvance(), which starts at most one read and one write.
// A caller that does not read its answers leaves the one write unfinished, and
// soon no request is read any more.

#ifndef SERVER_RPC_RUN_STREAM_H_
#define SERVER_RPC_RUN_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/support/server_callback.h"
#include "sandbox/base/mutex.h"
#include "server/core/execution.h"
#include "server/rpc/found_execution.h"
#include "server/runtime/activity.h"

namespace server {

class RunStream final
    : public grpc::ServerBidiReactor<corral::v1::RunExecutionsRequest,
                                     corral::v1::RunExecutionsResponse>,
      public LastingCall,
      public std::enable_shared_from_this<RunStream> {
 public:
  // No further request is read while so many starts are unanswered, or while
  // the commands that have not started have so many bytes.
  static constexpr size_t kMaxUnanswered = 1000;
  static constexpr size_t kMaxStartingBytes = size_t{4} << 20;
  // The largest number of starts in one request, which one of gRPC's few
  // threads carries out.
  static constexpr size_t kMaxStarts = 100;
  // The largest number of answers in one message.
  static constexpr int kMaxAnswers = 250;

  using Started = absl::AnyInvocable<void(absl::StatusOr<FoundExecution>)>;
  // Checks a start, which is gone after the return, and starts its command.
  // Calls `started` once, on any thread: with the execution when it runs or
  // failed to start, or with the error why there is none.
  using Start = std::function<void(
      const corral::v1::StartExecutionRequest& request, Started started)>;

  // The reactor lives until the call is over. If the server takes no more
  // lasting calls, the call fails.
  static RunStream* Begin(Start start, Activity::Call call);

  void Fail(const absl::Status& status) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class State {
    kReading,
    // The caller sends no more requests.
    kHalfClosed,
    // Finish() was called.
    kFinished,
  };
  class Command;
  // A command that has ended, or the error of its start.
  struct Answer {
    uint64_t number;
    absl::StatusOr<std::shared_ptr<Command>> command;
  };

  RunStream(Start start, Activity::Call call)
      : start_(std::move(start)), call_(std::move(call)) {}

  // `bytes`: of the start.
  void OnStarted(uint64_t number, size_t bytes,
                 absl::StatusOr<FoundExecution> started);
  void OnEnded(uint64_t number);
  static void Unwatch(const std::vector<std::shared_ptr<Command>>& commands);
  void MaybeAdvance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MaybeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MaybeWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Start start_;
  Activity::Call call_;
  // Keeps this object alive until OnDone().
  std::shared_ptr<RunStream> self_;
  // gRPC writes it during a read.
  corral::v1::RunExecutionsRequest request_;

  // May be held while an execution's lock is taken, never the other way round.
  sandbox::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kReading;
  // Why the call fails. CANCELLED: the caller has left.
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // gRPC reads it during a write.
  corral::v1::RunExecutionsResponse response_ ABSL_GUARDED_BY(mutex_);
  uint64_t starts_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t starting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By the numbers of their starts. Each is watched until its answer is
  // written: until then no retention may remove its record, or the same start
  // on another call would run the command again.
  std::map<uint64_t, std::shared_ptr<Command>> running_ ABSL_GUARDED_BY(mutex_);
  // Those whose answers are being written.
  std::vector<std::shared_ptr<Command>> answered_ ABSL_GUARDED_BY(mutex_);
  // To be written.
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_RPC_RUN_STREAM_H_

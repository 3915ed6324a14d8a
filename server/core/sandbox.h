// One sandbox as the server knows it: its state, its executions, and the way to
// its supervisor. It only holds state and delegates; sandboxes.h makes and
// deletes sandboxes.
//
// Thread-safe; nothing here blocks, unless said otherwise. Callbacks are called
// without a lock held.

#ifndef SERVER_CORE_SANDBOX_H_
#define SERVER_CORE_SANDBOX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "server/api/conversion.h"
#include "server/core/execution.h"
#include "server/core/lanes.h"
#include "server/core/lifetime.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

class Sandbox final : public sandbox::SupervisorObserver,
                      public std::enable_shared_from_this<Sandbox> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using Started =
      absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Execution>>)>;
  using State = corral::v1::Sandbox::State;
  using ExecutionPtr = std::shared_ptr<Execution>;

  // A command to be started, validated before. Empty `id`: one is made up.
  struct NewExecution {
    std::string id;
    corral::v1::Command command;
    sandbox::wire::RequestIdentity request;
  };

  // What a sandbox needs of the server. All must outlive it.
  struct Environment {
    Activity* activity;
    TimerQueue* timers;
    Lanes* lanes;
    StorageHealth* storage;
    uint32_t max_executions;
    // A sandbox that is to be deleted has no process left. Called once; what it
    // calls must end with FinishDeletion.
    std::function<void(std::shared_ptr<Sandbox>)> on_emptied;
  };

  // How long an ephemeral sandbox stays without a stream of its command's
  // output.
  static constexpr absl::Duration kUnwatchedLifetime = absl::Seconds(60);

  // How long a call waits for the supervisor of an earlier server's sandbox.
  static constexpr absl::Duration kKnownPatience = absl::Seconds(5);

  // How often records are read that the disk does not give, and how long after
  // one attempt the next one follows.
  static constexpr int kReadAttempts = 5;
  static constexpr absl::Duration kReadRetry = absl::Milliseconds(200);

  // CREATING.
  Sandbox(sandbox::wire::SandboxSpec spec, const Environment& environment);

  // `ready` is called when it is READY, at once if it was, or, when it is
  // deleted for that, with what kept it from it. Of one that is adopted: when
  // its executions are known.
  void AwaitReady(Done ready);

  const std::string& id() const { return spec_.id(); }
  const sandbox::wire::SandboxSpec& spec() const { return spec_; }
  corral::v1::Sandbox Describe() const;

  // The callback of SupervisorLauncher::Create.
  void OnCreated(const absl::Status& status);
  // What Create or Adopt returned; null if there is no supervisor, OnGone
  // follows then.
  void Attach(std::unique_ptr<sandbox::SupervisorConnection> sandbox);

  // Of its supervisor: see wire::Snapshot.
  uint32_t schema_version() const;

  // From now on it is deleted when its lifetime is over. Once.
  void BeginLifetime();
  Lifetime& lifetime() { return *lifetime_; }

  // Null: the supervisor is gone, or see AwaitKnown. Its methods may be called
  // at any time.
  std::shared_ptr<sandbox::SupervisorConnection> supervisor() const;

  // `known` is called when the executions are known that an earlier server
  // began; at once if it was none's. Until then supervisor() says nothing about
  // them. With SANDBOX_NOT_READY (UNAVAILABLE) if that takes longer than
  // kKnownPatience.
  void AwaitKnown(Done known);

  // Starts a command, or finds the execution that the same request made.
  // `started` gets the execution when it runs or failed to start, or what kept
  // it from being made, which leaves nothing: SANDBOX_NOT_READY,
  // EXECUTION_EXISTS, REQUEST_MISMATCH, TOO_MANY_EXECUTIONS, INVALID_FIELD,
  // STORAGE_FAILED or SERVER_FAULT. Returns the execution, or null if `started`
  // got an error already.
  ExecutionPtr Start(NewExecution wanted, Started started);

  // False: there may be executions of an earlier server that are not read yet.
  bool knows_executions() const;

  // Null: there is none.
  ExecutionPtr FindExecution(const std::string& id) const;

  // At most `limit` executions with ids after `after`, in their order.
  std::vector<ExecutionPtr> ListExecutions(const std::string& after,
                                           size_t limit) const;
  size_t execution_count() const;

  // EXECUTION_NOT_FOUND, or OK when nothing of it is left.
  void DeleteExecution(const std::string& id, Done done);

  // Kills everything; what runs ends with `cause`. OK when nothing of the
  // sandbox is left.
  void Delete(sandbox::wire::ExitRecord::Cause cause, Done done);
  // Nothing is left. Answers who waits for that.
  void FinishDeletion();

  // The output of an ephemeral sandbox's command is streamed from now on; the
  // stream ended. Without streams for long enough it is deleted.
  void BeginViewing();
  void EndViewing();

  // Takes in the executions that the disk knows and this object does not,
  // before a sandbox of an earlier server is adopted; OnSnapshot does so again
  // if one has begun since. Reads the disk: while the server starts only. An
  // error: some may be missing.
  absl::Status LoadRecords();
  // Ends what has no end with the one that the disk knows, or as LOST, and
  // drops the Sandbox. The supervisor must be gone. May block. An error: that
  // cannot be known now, and nothing was ended; to be called again.
  absl::Status EndWithoutSupervisor();
  // Whether to go on without what cannot be read of the records: not before
  // kReadAttempts of this call.
  bool MayGiveUp(const absl::Status& unreadable);

  // SupervisorObserver, called by the event loop.
  void OnSnapshot(const sandbox::wire::Snapshot& snapshot) override;
  void OnExecution(const sandbox::wire::ExecutionRecord& record) override;
  void OnOutput(const sandbox::wire::OutputChange& change) override;
  void OnStorage(const sandbox::wire::Storage& storage) override;
  void OnGone(const sandbox::wire::SandboxEnd& end) override;

 private:
  struct Admission {
    ExecutionPtr execution;
    bool is_new;
  };
  // Takes `started` if it must wait.
  absl::StatusOr<Admission> Admit(const NewExecution& wanted, Started* started);
  // Null: the request is the first of its kind.
  absl::StatusOr<ExecutionPtr> FindSame(const NewExecution& wanted) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Insert(const std::string& id, const ExecutionPtr& execution)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnStarted(const ExecutionPtr& execution, const std::string& id,
                 const absl::Status& status);
  absl::Status ToStartError(const Execution& execution,
                            const absl::Status& status) const;
  // Answers who waits for its start.
  void AnswerStarters(const std::string& id);
  // It was never made.
  void FailStart(const ExecutionPtr& execution, const std::string& id,
                 const absl::Status& error);
  void OnExecutionDeleted(const std::string& id, const absl::Status& status);
  void AnswerDeletion(const std::string& id, const absl::Status& result);
  // Takes in an execution of an earlier server.
  void Load(const sandbox::wire::ExecutionRecord& record,
            corral::v1::Command command);
  // Of what the disk says and `end` the first one counts, also for a server
  // after this one.
  void SettleFailure(const sandbox::wire::SandboxEnd& end);
  // EndWithoutSupervisor by a worker, until it succeeds; then `then`.
  void EndThen(absl::AnyInvocable<void()> then);
  void OnEnd(const ExecutionPtr& execution);
  void Lose(const ExecutionPtr& execution);
  corral::v1::Loss WhyLost() const;
  void BeginDeletion();
  void MaybeReady();
  void MaybeEmptied();

  const sandbox::wire::SandboxSpec spec_;
  const Environment environment_;
  // Held by each execution that has not ended.
  const std::shared_ptr<Lifetime> lifetime_;

  mutable sandbox::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = corral::v1::Sandbox::CREATING;
  sandbox::wire::SandboxEnd failure_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<sandbox::SupervisorConnection> supervisor_
      ABSL_GUARDED_BY(mutex_);
  uint32_t schema_version_ ABSL_GUARDED_BY(mutex_) = kSchemaVersion;
  // Calls of MayGiveUp.
  int unreadable_ ABSL_GUARDED_BY(mutex_) = 0;
  // LoadRecords was called; and it succeeded, or was given up.
  bool adopted_ ABSL_GUARDED_BY(mutex_) = false;
  bool loaded_ ABSL_GUARDED_BY(mutex_) = false;
  // The factory or the supervisor said that the sandbox is ready.
  bool created_ ABSL_GUARDED_BY(mutex_) = false;
  // Attach was called.
  bool attached_ ABSL_GUARDED_BY(mutex_) = false;
  // No process of the sandbox is left, and no callback will come.
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  // As it was asked to.
  bool gone_as_asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool emptied_ ABSL_GUARDED_BY(mutex_) = false;
  bool deleted_ ABSL_GUARDED_BY(mutex_) = false;
  // What kept it from becoming ready.
  absl::Status creation_failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<Done> ready_waiters_ ABSL_GUARDED_BY(mutex_);
  // What its commands end with, once a deletion is wanted.
  std::optional<sandbox::wire::ExitRecord::Cause> deletion_cause_
      ABSL_GUARDED_BY(mutex_);
  std::vector<Done> deletion_waiters_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ExecutionPtr> executions_ ABSL_GUARDED_BY(mutex_);
  // By request id: the id of what it made.
  std::map<std::string, std::string> by_request_ ABSL_GUARDED_BY(mutex_);
  // By id: who waits for a start.
  std::map<std::string, std::vector<Started>> starting_ ABSL_GUARDED_BY(mutex_);
  // By id: who waits for the deletion of an execution.
  std::map<std::string, std::vector<Done>> execution_deletions_
      ABSL_GUARDED_BY(mutex_);
  int viewers_ ABSL_GUARDED_BY(mutex_) = 0;
  // Counts the calls of BeginViewing.
  uint64_t viewings_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_SANDBOX_H_

// One sandbox as the server knows it: its state, its executions, and the
// connection to its supervisor. Each of its parts has a file of its own:
//
//   sandbox_state.h    the states and their transitions
//   execution_table.h  idempotent starts, and the callers that wait for them
//   recovery.h         what an earlier server left
//   lifetime.h         deletion by age and idle time
//   connections.h      connections to its servers
//   viewers.h          deletion of a one-command sandbox that nobody watches
//   retention.h        removal of ended executions, by number and age
//
// sandboxes.h makes sandboxes and removes their files.
//
// Thread-safe; nothing here blocks, unless said otherwise. Callbacks are called
// without a lock held.

#ifndef SERVER_CORE_SANDBOX_H_
#define SERVER_CORE_SANDBOX_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
#include "sandbox/base/instant.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/names.h"
#include "server/core/connections.h"
#include "server/core/creation_times.h"
#include "server/core/execution.h"
#include "server/core/execution_table.h"
#include "server/core/lanes.h"
#include "server/core/lifetime.h"
#include "server/core/pending_calls.h"
#include "server/core/recovery.h"
#include "server/core/retention.h"
#include "server/core/sandbox_state.h"
#include "server/core/storage_health.h"
#include "server/core/teardown_queue.h"
#include "server/core/viewers.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
#include "server/runtime/timer_queue.h"

namespace server {

class Sandbox final : public sandbox::SupervisorObserver,
                      public std::enable_shared_from_this<Sandbox> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using ExecutionPtr = ExecutionTable::ExecutionPtr;
  using Started = ExecutionTable::Started;
  using Cause = SandboxState::Cause;

  // A command to be started; it was validated before. The sandbox chooses an id
  // if `id` is empty.
  struct NewExecution {
    std::string id;
    corral::v1::Command command;
    sandbox::wire::RequestIdentity request;
    // When the server received the request. For a command with a trace.
    sandbox::Instant received = {};
    // How much later than its start the caller may learn of it, if nothing else
    // happens.
    absl::Duration report_delay = absl::ZeroDuration();
  };

  // The parts of the server that a sandbox uses. All must outlive it.
  struct Environment {
    Activity* activity;
    TimerQueue* timers;
    Lanes* lanes;
    StorageHealth* storage;
    HeapTrim* heap;
    // The retention of the ended executions of all sandboxes. Its ids are full
    // names of executions.
    std::shared_ptr<Retention> all_ended;
    // Shared by all sandboxes.
    std::shared_ptr<TeardownQueue> teardowns;
    // The number of executions that may run at a time.
    uint32_t max_running;
    // The present boot id of the host.
    std::string boot_id;
    // Called once, when the sandbox has no process left: removes its files on
    // the lane of removals, and then calls OnFilesRemoved().
    std::function<void(std::shared_ptr<Sandbox>)> remove_files;
  };

  enum class Origin { kNew, kEarlierServer };

  // The time for which a call waits for the recovery.
  static constexpr absl::Duration kKnownPatience = absl::Seconds(5);

  // The time for which a kill waits for the disk to record the deletion.
  static constexpr absl::Duration kRecordPatience = absl::Seconds(1);

  // The time after which nothing of a killed supervisor holds its placeholders.
  static constexpr absl::Duration kPlaceholderDelay = absl::Seconds(1);

  static std::shared_ptr<Sandbox> Create(sandbox::wire::SandboxSpec spec,
                                         const Environment& environment,
                                         Origin origin);

  const std::string& id() const { return spec_.id(); }
  // The description that was written last before this object was made.
  const sandbox::wire::SandboxSpec& spec() const { return spec_; }
  // The same with the rules of the way out that are in force.
  sandbox::wire::SandboxSpec PresentSpec() const;
  // The request that made it.
  const sandbox::wire::RequestIdentity& request() const {
    return spec_.request();
  }
  corral::v1::Sandbox Describe() const;

  // Calls `ready` when the sandbox is not CREATING any more; with an error, and
  // after it is removed, if it could not be made.
  void AwaitReady(Done ready);

  // Calls `known` when the sandbox is recovered: its executions are known, and
  // its supervisor may be asked. Calls it at once if no earlier server made the
  // sandbox. SANDBOX_NOT_READY (UNAVAILABLE) if that takes longer than
  // kKnownPatience.
  void AwaitKnown(Done known);

  // Takes the connection that SupervisorLauncher::Create or Adopt returned.
  // Called once. A null `supervisor` means that none lives, and OnGone()
  // follows. Events that came earlier take effect now.
  void Attach(std::unique_ptr<sandbox::SupervisorConnection> supervisor);
  // The callback of SupervisorLauncher::Create.
  void OnCreated(const absl::Status& status);
  // Steps of the creation, before Attach(): its directories are checked; its
  // description is written.
  void OnAdmitted();
  void OnRecorded();
  // Ends a creation that made nothing, because of `error`. To be called instead
  // of Attach().
  void Abandon(const absl::Status& error);

  // True if no process of the sandbox is left.
  bool gone() const;
  // Null if it is gone, or not found yet (see AwaitKnown). Its methods may be
  // called at any time, also after it is gone.
  std::shared_ptr<sandbox::SupervisorConnection> supervisor() const;

  // Begins the lifetime, after which the sandbox is deleted. Call it once.
  void BeginLifetime();
  Lifetime& lifetime() { return *lifetime_; }
  // Keeps the sandbox for as long as a call lasts.
  CallHold HoldForCall() { return CallHold(lifetime_); }

  Connections& connections() { return connections_; }

  // A stream of a one-command sandbox's output began; it ended.
  void BeginViewing() { viewers_->Begin(); }
  void EndViewing() { viewers_->End(); }

  // Starts a command, or finds the execution that the same request made.
  // `started` gets the execution when it runs or failed to start. Otherwise it
  // gets the reason why no execution was made: SANDBOX_NOT_READY,
  // EXECUTION_EXISTS, REQUEST_MISMATCH, TOO_MANY_EXECUTIONS, STORAGE_FAILED or
  // SERVER_FAULT.
  void Start(NewExecution wanted, Started started);
  // The same after AwaitKnown(), whose error `started` gets, too.
  void StartWhenKnown(NewExecution wanted, Started started);

  // Returns false if executions of an earlier server may not be read yet.
  bool knows_executions() const { return recovery_.has_records(); }
  // Lets their records be read before those of other sandboxes.
  void HurryRecords();

  // Returns null if there is none.
  ExecutionPtr FindExecution(const std::string& id) const {
    return executions_.Find(id);
  }
  // At most `limit` executions with ids after `after`, in their order.
  std::vector<ExecutionPtr> ListExecutions(const std::string& after,
                                           size_t limit) const {
    return executions_.List(after, limit);
  }
  size_t execution_count() const { return executions_.size(); }

  // Kills what is left of the execution and removes it. Fails with
  // EXECUTION_NOT_FOUND, SANDBOX_NOT_READY (see AwaitKnown) or SERVER_FAULT.
  void DeleteExecution(const std::string& id, Done done);

  // Returns true while somebody streams the output of the execution or waits
  // for its end.
  bool IsWatched(const std::string& id) const;
  // Removes an ended execution because of a retention. OK also if it does not
  // exist any more.
  void Evict(const std::string& id, Done done);

  // Kills all processes; running commands end with `cause`. Calls `done` when
  // nothing of the sandbox is left.
  void Delete(Cause cause, Done done);
  // Reports that Environment::remove_files has removed the files.
  void OnFilesRemoved();

  // Removes what a supervisor that was killed has left in workspaces, see
  // abandoned_placeholders.h. Does nothing if the supervisor ended as asked.
  // Blocks.
  void RemoveLeftPlaceholders() const;

  // Begins to read the records of an earlier server's executions. Call it once.
  void BeginRecovery();

  // SupervisorObserver, called by the event loop.
  void OnSnapshot(const sandbox::wire::Snapshot& snapshot) override;
  void OnExecution(const sandbox::wire::ExecutionRecord& record) override;
  void OnOutput(const sandbox::wire::OutputChange& change) override;
  void OnStorage(const sandbox::wire::Storage& storage) override;
  void OnMade(const sandbox::wire::SandboxTrace& trace) override;
  void OnEgressRules(const sandbox::wire::EgressRules& rules) override;
  void OnGone(const sandbox::wire::SandboxEnd& end) override;

 private:
  struct EarlyEvent {
    SandboxState::Event event;
    std::optional<Cause> cause;
  };

  Sandbox(sandbox::wire::SandboxSpec spec, const Environment& environment,
          Origin origin);

  // sandbox_transitions.cc: what follows upon an event.
  void Handle(SandboxState::Event event,
              std::optional<Cause> cause = std::nullopt);
  void Perform(SandboxState::Action action);
  void AnswerReady();
  void RecordDeletion();
  void WriteDeletion();
  void AwaitKill();
  void Kill(TeardownQueue::Turn turn);
  void ReportLosses();
  void OnLossesReported();
  void AnswerRemoved();

  ExecutionName NameOf(const std::string& id) const {
    return ExecutionName(SandboxName(spec_.id()), id);
  }

  // sandbox_executions.cc: starts, ends and deletions.
  absl::StatusOr<ExecutionTable::Entry> Admit(const NewExecution& wanted);
  void OnStarted(const std::string& id, const absl::Status& status);
  absl::Status ToStartError(const std::string& id,
                            const absl::Status& status) const;
  void FailStart(const std::string& id, const absl::Status& error);
  void Update(const sandbox::wire::ExecutionRecord& record);
  void OnEnd(const std::string& id, const ExecutionPtr& execution);
  void Lose(const std::string& id, const ExecutionPtr& execution);
  corral::v1::Loss WhyLost() const;
  void OnExecutionDeleted(const std::string& id, const absl::Status& status);
  void RemoveWithoutSupervisor(const std::string& id);
  void Forget(const std::string& id);
  void AnswerDeletion(const std::string& id, const absl::Status& result);
  void EnforceRetention();

  // sandbox_recovery.cc: what an earlier server or a lost supervisor left. All
  // but EndThen() may block.
  void ReadRecords();
  absl::Status LoadRecords();
  void Load(const sandbox::wire::ExecutionRecord& record,
            const corral::v1::Command& command);
  void Merge();
  // Forgets executions that were deleted after they were read, and whose ids
  // others have got since.
  void ForgetReplaced(const Recovery::Reports& reports);
  void LoseUnreported(const Recovery::Reports& reports);
  void EndRecovery();
  void SettleFailure();
  // Ends each unended execution with the end that the disk has, or as LOST. The
  // supervisor must be gone. Returns an error if the disk cannot be read now:
  // then nothing was ended, and it must be called again.
  absl::Status EndWithoutSupervisor();
  // Runs EndWithoutSupervisor() on the lane of records until it succeeds; then
  // calls `then`.
  void EndThen(absl::AnyInvocable<void()> then);

  const sandbox::wire::SandboxSpec spec_;
  const Environment environment_;
  const std::shared_ptr<const ExecutionHome> home_;
  const std::shared_ptr<Lifetime> lifetime_;
  Connections connections_;
  ExecutionTable executions_;
  Recovery recovery_;
  // Set by Create().
  std::shared_ptr<Viewers> viewers_;
  std::shared_ptr<Retention> retention_;

  mutable sandbox::Mutex mutex_;
  SandboxState state_ ABSL_GUARDED_BY(mutex_);
  // Events that came before Attach(); absent after it.
  std::optional<std::vector<EarlyEvent>> early_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<sandbox::SupervisorConnection> supervisor_
      ABSL_GUARDED_BY(mutex_);
  // The rules that the supervisor reported; absent: those of the spec.
  std::optional<sandbox::wire::EgressRules> egress_rules_
      ABSL_GUARDED_BY(mutex_);
  // Why the supervisor is gone. The supervisor's own report replaces the
  // server's guess.
  sandbox::wire::SandboxEnd failure_ ABSL_GUARDED_BY(mutex_);
  // True if the supervisor is gone because a deletion was requested.
  bool gone_as_asked_ ABSL_GUARDED_BY(mutex_) = false;
  CreationTimes creation_times_ ABSL_GUARDED_BY(mutex_);
  // The supervisor's steps; empty if they are not known.
  sandbox::wire::SandboxTrace trace_ ABSL_GUARDED_BY(mutex_);
  // Why the sandbox was not made; OK if it was.
  absl::Status creation_failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<Done> ready_waiters_ ABSL_GUARDED_BY(mutex_);
  std::vector<Done> removal_waiters_ ABSL_GUARDED_BY(mutex_);
  PendingCalls<Done> execution_deletions_ ABSL_GUARDED_BY(mutex_);
  // Executions whose files are being removed here, without a supervisor.
  std::set<std::string> removing_ ABSL_GUARDED_BY(mutex_);
  // Held until the end of the recovery, or of the sandbox's last process if the
  // sandbox is being deleted: until then no retention removes anything.
  std::vector<Retention::Suspension> suspensions_ ABSL_GUARDED_BY(mutex_);
  // 0: none.
  TimerQueue::Id record_timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_SANDBOX_H_

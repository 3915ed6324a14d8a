// One command of the sandbox, from its request to its end and beyond:
// descendants may outlive it.
//
//   STARTING -> RUNNING -> EXITED
//           \-> FAILED_TO_START
//
// EXITED is told after the command was reaped and its output closed, or given
// up after CommandSpec.drain_ns.
//
// For the event loop's thread. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_EXECUTION_H_
#define SANDBOX_SUPERVISOR_EXECUTION_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/execution_times.h"
#include "sandbox/supervisor/input_channel.h"
#include "sandbox/supervisor/killed_processes.h"
#include "sandbox/supervisor/output_channel.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/spawner.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

// What an execution needs of its sandbox. Outlives it.
struct ExecutionHost {
  EventLoop* loop = nullptr;
  Spawner* spawner = nullptr;
  Cgroup* cgroup = nullptr;
  StorageStatus* storage = nullptr;
  OutputQuota* quota = nullptr;
  RecordSync* sync = nullptr;
  // Made ahead; taken by the next execution.
  Cgroup spare_cgroup;
  ExecutionFiles spare_files;
  // Numbers the groups of executions and what is made ahead.
  uint64_t next_number = 0;
  // The spawner's user id.
  uint32_t first_id = 0;
  int devpts = -1;
  // Path of the directory that holds a directory for each execution.
  std::string directory;
  std::function<void(const wire::ExecutionRecord&)> on_state;
  std::function<void(wire::OutputChange)> on_output;
  // Init is about to end, and everything with it.
  std::function<bool()> failing;

  // A group, and files for pipes, for one execution.
  absl::StatusOr<Cgroup> MakeCgroup();
  absl::StatusOr<ExecutionFiles> MakeFiles();
};

class Execution {
 public:
  Execution(ExecutionHost* host, wire::StartExecution start);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // OK when the command runs or failed to start; on_state told which. An error:
  // nothing was started, and nothing of it is left. STORAGE: its files could
  // not be written.
  void Start(absl::AnyInvocable<void(absl::Status)> done);

  const wire::ExecutionRecord& record() const { return record_; }
  // The record, with what the logs hold now.
  wire::ExecutionRecord Report() const;
  bool ended() const;
  // It was killed when init was, so its end is not known and none will be told.
  bool lost() const { return lost_; }

  // While it is being started, the signal is kept until it runs.
  absl::Status Signal(const wire::Signal& signal);
  absl::Status Resize(uint32_t rows, uint32_t columns);
  void WriteInput(const wire::WriteInput& input, InputChannel::Done done);
  void Acknowledge(wire::Stream stream, uint64_t offset);

  // Notes the cause of an end that is about to be forced, of which the first
  // counts, and who will be killed.
  void Condemn(wire::ExitRecord::Cause cause);
  // Kills the whole tree. Does not wait until it is dead.
  void Kill();

  // Removes the cgroup if nothing lives in it. False: something does. Only when
  // it has ended.
  bool RemoveCgroup();
  // Removes everything on disk. False: something is left, and the storage is
  // told to fail. Only when it has ended.
  bool RemoveFiles();

 private:
  struct Timeouts {
    explicit Timeouts(const wire::CommandSpec& command);

    // Zero: none.
    absl::Duration wall;
    absl::Duration cpu;
    absl::Duration kill_grace;
    // How long a descendant that holds the output holds back the end.
    absl::Duration drain;
  };

  // There is something for the signal to end, or to be caught by.
  bool Concerns(const wire::Signal& signal) const;
  absl::Status Deliver(const wire::Signal& signal);
  void DeliverEarlySignals();
  // NOT_A_TERMINAL: it has no terminal, or that is closed.
  absl::Status CheckTerminal();
  absl::Status Prepare();
  absl::Status TakeFiles(bool terminal);
  absl::Status OpenStreams();
  void OnSpawned(UniqueFd pidfd, SpawnAnswer answer,
                 absl::AnyInvocable<void(absl::Status)> done);
  void OnFailedToStart(const UniqueFd& pidfd, SpawnAnswer answer);
  void OnRunning(UniqueFd pidfd);
  void OnExit();
  void OnOutput();
  void OnMustKill(wire::ExitRecord::Cause cause);
  void ExpireOutput();
  void OnDrainTimeout();
  bool OutputRefused() const;
  // It has ended, but for output or a record that the disk refuses.
  bool DiskHoldsBack() const;
  // The end is not held back any more, drain_ns after the command's, by output
  // that the disk refuses, nor by its record.
  void ForceEnd();
  void Drain();
  void Finish(bool output_open);
  void TellState();
  absl::Status WriteStart();
  // Tells the end as soon as it is recorded. May be called with a later state
  // of it until then.
  void End(wire::ExecutionRecord end);
  void WriteEnd();
  // `end_` is not to be told before it is recorded.
  bool EndIsHeldBack() const;
  void TellEnd();
  // `pid` was the command's.
  wire::ExitRecord::Cause Cause(pid_t pid) const;
  // The same, once what became of its output is known.
  wire::ExitRecord::Cause FinalCause() const;
  bool OutputClosed() const;
  absl::Status SignalForegroundGroup(int signal);
  OutputChannel* FindOutput(wire::Stream stream);
  void StartTimeouts();
  void CancelTimeouts();
  void CheckCpuTime();
  void OnTimeout(wire::ExitRecord::Cause cause);
  void KillAfter(absl::Duration grace);
  // Kills all that is in the group, and looks again after `pause` until nothing
  // is.
  void KillGroup(absl::Duration pause);
  void Cancel(std::optional<EventLoop::TimerId>& timer);

  ExecutionHost* const host_;
  // Emptied once it runs: start.pb has it.
  wire::CommandSpec command_;
  const Timeouts timeouts_;
  wire::ExecutionRecord record_;
  ExecutionTimes times_;
  Cgroup cgroup_;
  // The command's own ends, until it has them.
  std::vector<UniqueFd> command_fds_;
  ExecutionFiles files_;
  // When it has ended, until that is told.
  std::optional<wire::ExecutionRecord> end_;
  std::vector<std::unique_ptr<OutputChannel>> outputs_;
  std::unique_ptr<InputChannel> input_;
  UniqueFd pidfd_;
  // Valid from the exit on. What is done to descendants later has no part in
  // the cause.
  int wait_status_ = 0;
  wire::ExitRecord::Cause cause_ = wire::ExitRecord::NORMAL;
  bool reaped_ = false;
  bool lost_ = false;
  bool drain_over_ = false;
  bool forced_ = false;
  std::optional<wire::ExitRecord::Cause> timed_out_;
  std::optional<wire::ExitRecord::Cause> condemned_;
  std::set<int> client_signals_;
  // Sent before it ran.
  std::vector<wire::Signal> early_signals_;
  KilledProcesses killed_;
  std::optional<EventLoop::TimerId> wall_timer_;
  std::optional<EventLoop::TimerId> cpu_timer_;
  std::optional<EventLoop::TimerId> kill_timer_;
  std::optional<EventLoop::TimerId> group_timer_;
  std::optional<EventLoop::TimerId> drain_timer_;
  std::optional<EventLoop::TimerId> reap_timer_;
  std::optional<EventLoop::TimerId> write_timer_;
  std::optional<EventLoop::TimerId> expire_timer_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_EXECUTION_H_

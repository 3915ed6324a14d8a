// One command of the sandbox, from its request to its end and beyond:
// descendants may outlive it.
//
//   STARTING -> RUNNING -> ENDING
//        \           \-> LOST /
//         \-----------------/  (it failed to start)
//
// OnExit reaps it; from there on command_ending.cc carries out its end.
//
// Used on the event loop's thread only. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_SUPERVISED_COMMAND_H_
#define SANDBOX_SUPERVISOR_SUPERVISED_COMMAND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/command_ending.h"
#include "sandbox/supervisor/command_host.h"
#include "sandbox/supervisor/command_output.h"
#include "sandbox/supervisor/command_processes.h"
#include "sandbox/supervisor/command_timeouts.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/execution_times.h"
#include "sandbox/supervisor/input_channel.h"
#include "sandbox/supervisor/oom_watch.h"
#include "sandbox/supervisor/spawner.h"
#include "sandbox/supervisor/stage_times.h"

namespace sandbox {

class SupervisedCommand {
 public:
  SupervisedCommand(CommandHost* host, wire::StartExecution start);
  ~SupervisedCommand();
  SupervisedCommand(const SupervisedCommand&) = delete;
  SupervisedCommand& operator=(const SupervisedCommand&) = delete;

  // Makes what the command needs, its record included. If it fails, nothing is
  // left. Fails with STORAGE if its files could not be written.
  absl::Status Prepare();
  // Call it after Prepare(). Calls `started` once, when the command runs or has
  // failed to start and on_state was called with the outcome. Never calls it if
  // the spawner ends first, which ends the sandbox.
  void Start(absl::AnyInvocable<void()> started);

  wire::ExecutionRecord::State state() const { return record_.state(); }
  // The record for a server, with what the logs hold now.
  wire::ExecutionRecord report() const;
  // True once its end was reported.
  bool ended() const { return ending_.over(); }
  // True once it has ended and nothing is left but its files, with the record
  // of its end, and the report.
  bool spent() const {
    return ended() && files_.complete() && processes_.released() &&
           output_.released();
  }
  // The bytes of disk that its output is charged for.
  uint64_t disk_bytes() const { return output_.charged(); }
  // True if it was killed because init ended: its own end is unknown and is
  // never reported.
  bool lost() const { return state_ == State::kLost; }

  // A signal to a command that is still being started is delivered when it
  // runs. Fail with EXECUTION_ENDED if no process is left, and with
  // NOT_A_TERMINAL if the command has no terminal.
  absl::Status Signal(const wire::Signal& signal);
  absl::Status Resize(uint32_t rows, uint32_t columns) {
    return output_.ResizeTerminal(rows, columns);
  }
  void WriteInput(const wire::WriteInput& input, InputChannel::Done done);
  void Acknowledge(wire::Stream stream, uint64_t offset) {
    output_.Acknowledge(stream, offset);
  }

  // Records why the command is about to be killed, and which processes it
  // takes along. The first cause counts.
  void Condemn(wire::ExitRecord::Cause cause);
  // Kills all processes. Does not wait until they are dead.
  void Kill();

  // Returns true if this is the command's process, which has not been reaped.
  bool Owns(pid_t pid) { return processes_.IsLeader(pid); }
  // Reaps the command and returns true, if this is its process, which has
  // ended.
  bool ReapIfOwn(pid_t pid);

  // Gives the cgroup of an ended command back. Returns false if a process lives
  // in it.
  bool ReleaseCgroup();
  // Removes everything of an ended command on the disk. Returns false if
  // something is left; then the storage status fails.
  bool RemoveFiles();

 private:
  enum class State {
    // The spawner has not answered yet.
    kStarting,
    kRunning,
    // It was reaped or has failed to start; ending_ knows how far it is.
    kEnding,
    kLost,
  };

  void Enter(State next);
  bool HasFailed(SpawnAnswer answer) const;
  void OnFailedToStart(const UniqueFd& pidfd, SpawnAnswer answer);
  void OnRunning(UniqueFd pidfd);
  void ReportRunningAfter(absl::Duration delay);
  void OnOutput();
  void OnExit();
  void OnTimeout(wire::ExitRecord::Cause cause);
  void OnGraceOver();
  wire::ExecutionRecord RecordWithInput() const;

  // Returns true if the signal can reach a process or shorten the end.
  bool Concerns(const wire::Signal& signal) const;
  absl::Status Deliver(const wire::Signal& signal);

  CommandHost* const host_;
  State state_ = State::kStarting;
  // Emptied once the command runs, since the record of the start has it.
  wire::CommandSpec command_;
  // The record as it was reported last, without `streams`, and with an early
  // `trace`.
  wire::ExecutionRecord record_;
  // See ExecutionRecord.answers and StartExecution.report_delay_ns.
  const uint64_t answers_;
  const absl::Duration report_delay_;
  // Pending while the report of the start is due.
  Timer report_timer_;
  ExecutionTimes times_;
  StageTimes stages_;
  ExecutionFiles files_;
  // The command's own ends of its streams, until it is started.
  std::vector<UniqueFd> command_fds_;
  // The signals that were sent while the command was being started.
  std::vector<wire::Signal> early_signals_;
  CommandProcesses processes_;
  CommandTimeouts timeouts_;
  OomWatch oom_watch_;
  CommandOutput output_;
  // Null if the command has no standard input.
  std::unique_ptr<InputChannel> input_;
  CommandEnding ending_;
  Timer reap_again_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SUPERVISED_COMMAND_H_

// The end of one command, from its exit to the report of its end:
//
//   NONE -> DRAINING -> RECORDING -> OVER
//      \________________/  (it failed to start)
//
// The steps stand from top to bottom in command_ending.cc: OnReaped finds the
// cause, Drain waits for the output, Record writes the record of the end,
// Finish reports.
//
// Used on the event loop's thread only. Not movable: the end writer refers to
// it.

#ifndef SANDBOX_SUPERVISOR_COMMAND_ENDING_H_
#define SANDBOX_SUPERVISOR_COMMAND_ENDING_H_

#include <functional>

#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/command_host.h"
#include "sandbox/supervisor/command_output.h"
#include "sandbox/supervisor/command_processes.h"
#include "sandbox/supervisor/end_writer.h"
#include "sandbox/supervisor/ending_cause.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/reap.h"
#include "sandbox/supervisor/stage_times.h"

namespace sandbox {

class CommandEnding {
 public:
  // Called once, when the end is on disk or need not wait for the disk.
  using Report = std::function<void(wire::ExecutionRecord end)>;

  // All pointers outlive this.
  CommandEnding(const CommandHost* host, ExecutionFiles* files,
                const CommandProcesses* processes, CommandOutput* output,
                StageTimes* stages, Report report);
  CommandEnding(const CommandEnding&) = delete;
  CommandEnding& operator=(const CommandEnding&) = delete;

  // The next three note facts that decide the cause of the end. After
  // OnReaped(), only lost output can still change the cause.

  // The supervisor is about to kill the command; the first cause counts. A
  // deletion also discards the output that is not drained yet, and ends the
  // wait for the disk.
  void Condemn(wire::ExitRecord::Cause cause);
  void NoteTimeout(wire::ExitRecord::Cause cause) { facts_.timed_out = cause; }
  void NoteClientSignal(int signal) { facts_.client_signals.insert(signal); }
  bool condemned() const { return facts_.condemned.has_value(); }
  bool timed_out() const { return facts_.timed_out.has_value(); }

  // The next three are the steps of the end, called in this order.

  // Finds the cause. Returns false if the command died because the sandbox's
  // init ended: then it has no end of its own, and no other step follows.
  bool OnReaped(const Reaped& reaped, const wire::Usage& usage);
  // Waits for the output, at most for `limit`; see CommandOutput::Drain.
  void Drain(wire::ExecutionRecord end, absl::Duration limit);
  // Called when CommandOutput has reached the end of all streams, or the limit
  // is over. `left_open` is true if a process outside of the command still
  // holds a stream open.
  void OnDrained(bool left_open);

  // Replaces the three steps for a command that failed to start.
  void FailToStart(wire::ExecutionRecord end, SpawnAnswer answer);

  // From now on, the end waits for the disk no longer than the limit of
  // Drain().
  void Force();
  // Stops writing for good: the files are about to be removed.
  void StopWriting() { writer_.Stop(); }

  bool over() const { return state_ == State::kOver; }
  // Returns true if Force() may end a wait for the disk.
  bool waits_for_disk() const;

 private:
  enum class State {
    // The command is being started, runs, or has no end of its own.
    kNone,
    // It was reaped; its output is not complete.
    kDraining,
    // Its end is known, but neither on disk nor reported.
    kRecording,
    kOver,
  };

  void Enter(State next);
  void Record();
  bool MustBeOnDisk() const;
  void Finish();
  // Checks again whether the end must still wait for the disk.
  void RecordAgain();

  const CommandHost* const host_;
  const CommandProcesses* const processes_;
  CommandOutput* const output_;
  StageTimes* const stages_;
  const Report report_;
  State state_ = State::kNone;
  // The facts that are known so far.
  EndingFacts facts_;
  // The facts at the moment when the command was reaped. What happens to its
  // descendants later must not change the cause.
  EndingFacts at_exit_;
  // Valid from Drain() on; has no `streams`, and an early `trace`.
  wire::ExecutionRecord end_;
  bool forced_ = false;
  EndWriter writer_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_ENDING_H_

#include "sandbox/supervisor/command_ending.h"

#include <optional>
#include <utility>

#include "sandbox/base/log.h"

namespace sandbox {

CommandEnding::CommandEnding(const CommandHost* host, ExecutionFiles* files,
                             const CommandProcesses* processes,
                             CommandOutput* output, StageTimes* stages,
                             Report report)
    : host_(host),
      processes_(processes),
      output_(output),
      stages_(stages),
      report_(std::move(report)),
      writer_(host->timers, host->storage, host->sync, files, [this] {
        if (state_ == State::kRecording) {
          Finish();
        }
      }) {}

void CommandEnding::Enter(State next) {
  switch (next) {
    case State::kNone:
      LOG(FATAL) << "an end cannot be undone";
      break;
    case State::kDraining:
      CHECK(state_ == State::kNone);
      break;
    case State::kRecording:
      // From kNone, if the command failed to start. From kRecording, if a later
      // version replaces an end that the disk has not taken yet.
      CHECK(state_ != State::kOver);
      break;
    case State::kOver:
      CHECK(state_ == State::kRecording);
      break;
  }
  state_ = next;
}

bool CommandEnding::OnReaped(const Reaped& reaped, const wire::Usage& usage) {
  at_exit_ = facts_;
  at_exit_.wait_status = reaped.wait_status;
  at_exit_.init_ends = IsKilled(at_exit_) && host_->init_ends();
  at_exit_.out_of_memory = host_->kill_all_on_oom && usage.oom_kills() > 0;
  const std::optional<wire::ExitRecord::Cause> cause = CauseOfEnding(at_exit_);
  // The kernel's log is slow to read, so only if it decides.
  at_exit_.oom_victim = cause == wire::ExitRecord::NORMAL &&
                        IsKilled(at_exit_) && usage.oom_kills() > 0 &&
                        host_->may_be_oom_victim(reaped.pid);
  return cause.has_value();
}

void CommandEnding::Drain(wire::ExecutionRecord end, absl::Duration limit) {
  Enter(State::kDraining);
  end_ = std::move(end);
  output_->Drain(limit);
  if (DiscardsOutput(facts_)) {
    output_->Discard();
  }
}

void CommandEnding::OnDrained(bool left_open) {
  if (over()) {
    return;  // a descendant has closed the output after the end
  }
  if (state_ == State::kDraining) {
    stages_->Drained();
  }
  at_exit_.output_loss = output_->loss();
  end_.set_state(wire::ExecutionRecord::EXITED);
  end_.clear_exit();
  wire::ExitRecord* exit = end_.mutable_exit();
  exit->set_wait_status(at_exit_.wait_status);
  exit->set_cause(*CauseOfEnding(at_exit_));
  exit->set_output_open(left_open);
  processes_->WriteKilled(exit);
  Record();
}

void CommandEnding::FailToStart(wire::ExecutionRecord end, SpawnAnswer answer) {
  end_ = std::move(end);
  end_.set_state(wire::ExecutionRecord::FAILED_TO_START);
  end_.mutable_failure()->set_stage(
      static_cast<wire::StartFailure::Stage>(answer.stage));
  end_.mutable_failure()->set_errno_value(answer.error);
  Record();
}

void CommandEnding::Record() {
  Enter(State::kRecording);
  wire::ExecutionRecord written = end_;
  output_->AddStates(written.mutable_streams());
  stages_->AddTo(&written);
  writer_.Write(written);
  if (state_ == State::kRecording && !MustBeOnDisk()) {
    Finish();
  }
}

bool CommandEnding::MustBeOnDisk() const {
  // The caller of a start that failed gets its answer now.
  return end_.state() == wire::ExecutionRecord::EXITED && !forced_ &&
         !IsDeleted(facts_);
}

void CommandEnding::Finish() {
  Enter(State::kOver);
  stages_->Recorded();
  report_(std::move(end_));
  // Later, since unmapping the file interrupts other CPUs.
  output_->Settle();
}

void CommandEnding::Condemn(wire::ExitRecord::Cause cause) {
  if (!condemned()) {
    facts_.condemned = cause;
  }
  if (state_ != State::kDraining && state_ != State::kRecording) {
    return;
  }
  if (DiscardsOutput(facts_)) {
    output_->Discard();
  }
  RecordAgain();
}

void CommandEnding::Force() {
  forced_ = true;
  output_->IgnoreDisk();
  RecordAgain();
}

void CommandEnding::RecordAgain() {
  if (state_ == State::kRecording) {
    OnDrained(end_.exit().output_open());
  }
}

bool CommandEnding::waits_for_disk() const {
  return state_ == State::kRecording ||
         (state_ == State::kDraining && output_->refused());
}

}  // namespace sandbox

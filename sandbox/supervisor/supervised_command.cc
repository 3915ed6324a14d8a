#include "sandbox/supervisor/supervised_command.h"

#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/supervisor/command_preparation.h"
#include "sandbox/supervisor/command_usage.h"
#include "sandbox/supervisor/reap.h"

namespace sandbox {
namespace {

constexpr absl::Duration kReapRetry = absl::Milliseconds(10);
// The longest wait for a process that could not execute, and ends by itself.
constexpr absl::Duration kEndOfFailedStart = absl::Milliseconds(100);

bool HasOutput(const wire::OutputChange& change) {
  return std::any_of(
      change.streams().begin(), change.streams().end(),
      [](const wire::StreamState& stream) { return stream.end() > 0; });
}

}  // namespace

SupervisedCommand::SupervisedCommand(CommandHost* host,
                                     wire::StartExecution start)
    : host_(host),
      command_(std::move(*start.mutable_command())),
      answers_(start.report_answers()),
      report_delay_(absl::Nanoseconds(start.report_delay_ns())),
      stages_(start),
      processes_(host->timers, [this] { (void)(ended() && ReleaseCgroup()); }),
      timeouts_(host->timers, command_,
                {[this] { return processes_.group().CpuTime(); },
                 [this](wire::ExitRecord::Cause cause) { OnTimeout(cause); },
                 [this] { OnGraceOver(); }}),
      oom_watch_(
          host->loop, host->timers,
          [this] { return processes_.group().OomKills(); }, [this] { Kill(); }),
      output_({host->loop, host->timers, host->storage, host->quota}, &files_,
              {[this] { OnOutput(); },
               [this](wire::ExitRecord::Cause cause) {
                 Condemn(cause);
                 if (state_ != State::kStarting) {
                   Kill();
                 }
               },
               [this](bool left_open) { ending_.OnDrained(left_open); }}),
      ending_(host, &files_, &processes_, &output_, &stages_,
              [this](wire::ExecutionRecord end) {
                record_ = std::move(end);
                report_timer_.Cancel();
                host_->on_state(report());
              }) {
  record_.set_id(start.id());
  if (start.has_request()) {
    record_.mutable_request()->Swap(start.mutable_request());
  }
  times_.Create(&record_);
  stages_.AddTo(&record_);
}

SupervisedCommand::~SupervisedCommand() {
  if (processes_.leader().valid()) {
    host_->loop->Unwatch(processes_.leader().get());
  }
  host_->storage->Succeed(this);
}

void SupervisedCommand::Enter(State next) {
  switch (next) {
    case State::kStarting:
      LOG(FATAL) << "a command cannot start again";
      break;
    case State::kRunning:
      CHECK(state_ == State::kStarting);
      break;
    case State::kLost:
      CHECK(state_ == State::kRunning);
      break;
    case State::kEnding:
      // From kStarting: it failed to start.
      CHECK(state_ == State::kStarting || state_ == State::kRunning);
      break;
  }
  state_ = next;
}

absl::Status SupervisedCommand::Prepare() {
  ASSIGN_OR_RETURN(PreparedCommand prepared,
                   PrepareCommand(*host_, command_, record_));
  files_ = std::move(prepared.files);
  host_->sync->SyncStart(files_.path());
  processes_.SetGroup(std::move(prepared.group));
  oom_watch_.Start(std::move(prepared.oom_events));
  command_fds_ = std::move(prepared.command_fds);
  if (prepared.input.valid()) {
    input_ = std::make_unique<InputChannel>(
        host_->loop, std::move(prepared.input),
        /*terminal=*/command_.terminal_rows() != 0);
  }
  for (PreparedCommand::Output& output : prepared.outputs) {
    output_.Add(output.kind, std::move(output.source), std::move(output.log));
  }
  return absl::OkStatus();
}

void SupervisedCommand::Start(absl::AnyInvocable<void()> started) {
  Spawner::Job job;
  job.command = &command_;
  job.streams = std::exchange(command_fds_, {});
  job.group_fds = processes_.group().EntryFds();
  job.group = processes_.group().spawn_group();
  job.file_bytes = host_->file_bytes;
  job.traced = stages_.traced();
  job.begin = [this] { return processes_.BeginStart(); };
  job.done = [this, started = std::move(started)](UniqueFd pidfd,
                                                  SpawnAnswer answer) mutable {
    command_.Clear();
    stages_.Spawned(answer.times);
    if (HasFailed(answer)) {
      OnFailedToStart(pidfd, answer);
    } else {
      OnRunning(std::move(pidfd));
    }
    started();
  };
  stages_.Prepared();
  host_->spawner->Spawn(std::move(job));
}

bool SupervisedCommand::HasFailed(SpawnAnswer answer) const {
  // A command that its deletion has killed during the start ends like one that
  // ran.
  const bool deleted = answer.error == EINTR && ending_.condemned();
  return answer.stage != SpawnStage::kNone && !deleted;
}

void SupervisedCommand::OnFailedToStart(const UniqueFd& pidfd,
                                        SpawnAnswer answer) {
  if (pidfd.valid()) {
    // A spawner that was taken over could name a process that runs on. It is
    // reaped as a strange child then.
    (void)ReapWithin(pidfd.get(), kEndOfFailedStart);
  }
  output_.Close();
  if (input_ != nullptr) {
    input_->Close();
  }
  times_.End(&record_);
  ReleaseCgroup();
  Enter(State::kEnding);
  ending_.FailToStart(RecordWithInput(), answer);
}

void SupervisedCommand::OnRunning(UniqueFd pidfd) {
  Enter(State::kRunning);
  processes_.SetLeader(std::move(pidfd));
  // Once: the pidfd of a dead command stays readable until it is reaped, which
  // a tracer may delay.
  host_->loop->Watch(processes_.leader().get(), EPOLLIN | EPOLLONESHOT,
                     [this](uint32_t) { OnExit(); });
  times_.Start(&record_);
  output_.NoteStart(record_.start_time_ns());
  timeouts_.Start();
  record_.set_state(wire::ExecutionRecord::RUNNING);
  if (input_ != nullptr) {
    *record_.mutable_input() = input_->state();
  }
  if (report_delay_ > absl::ZeroDuration()) {
    ReportRunningAfter(report_delay_);
  } else {
    host_->on_state(report());
  }
  // Signals that clients sent while the command was being started.
  for (const wire::Signal& signal : std::exchange(early_signals_, {})) {
    (void)Deliver(signal);
  }
  if (ending_.condemned()) {
    Kill();
  }
}

void SupervisedCommand::ReportRunningAfter(absl::Duration delay) {
  report_timer_ =
      Timer(host_->timers, delay, [this] { host_->on_state(report()); });
}

void SupervisedCommand::OnOutput() {
  wire::OutputChange change;
  change.set_execution_id(record_.id());
  output_.AddStates(change.mutable_streams());
  if (stages_.traced() && HasOutput(change)) {
    stages_.Output();
  }
  if (report_timer_.pending() && HasOutput(change)) {
    // After the events that came together with the output: the end may be one
    // of them.
    ReportRunningAfter(absl::ZeroDuration());
  }
  host_->on_output(std::move(change));
}

wire::ExecutionRecord SupervisedCommand::report() const {
  wire::ExecutionRecord report = record_;
  output_.AddStates(report.mutable_streams());
  stages_.AddTo(&report);
  report.set_answers(answers_);
  return report;
}

void SupervisedCommand::OnExit() {
  // A tracer inside may delay the reaping of a dead command for as long as it
  // likes. The pidfd does not show when the tracer lets go, so a timer looks
  // again.
  const std::optional<Reaped> reaped = Reap(processes_.leader().get(), WNOHANG);
  if (!reaped.has_value()) {
    reap_again_ = Timer(host_->timers, kReapRetry, [this] { OnExit(); });
    return;
  }
  reap_again_.Cancel();
  // The spawner may not have closed its copy yet, which does no harm to a watch
  // with EPOLLONESHOT: see EventLoop::Close().
  host_->loop->Close(processes_.TakeLeader());
  timeouts_.OnExit();
  wire::Usage usage;
  SetUsage(processes_.group().Usage(), reaped->usage, &usage);
  if (!ending_.OnReaped(*reaped, usage)) {
    Enter(State::kLost);
    return;
  }
  Enter(State::kEnding);
  if (host_->kill_all_on_oom && usage.oom_kills() > 0) {
    Kill();
  }
  *record_.mutable_usage() = std::move(usage);
  times_.End(&record_);
  stages_.Exited();
  if (input_ != nullptr) {
    input_->Close();
  }
  ending_.Drain(RecordWithInput(), timeouts_.drain());
}

bool SupervisedCommand::ReapIfOwn(pid_t pid) {
  if (!Owns(pid)) {
    return false;
  }
  OnExit();
  return true;
}

wire::ExecutionRecord SupervisedCommand::RecordWithInput() const {
  wire::ExecutionRecord record = record_;
  if (input_ != nullptr) {
    *record.mutable_input() = input_->state();
  }
  return record;
}

void SupervisedCommand::OnTimeout(wire::ExitRecord::Cause cause) {
  ending_.NoteTimeout(cause);
  processes_.NoteKilled();
  processes_.SignalTree(SIGTERM);
}

void SupervisedCommand::OnGraceOver() {
  // If a timeout began the grace period, the timeout stays the cause.
  ending_.NoteClientSignal(SIGKILL);
  Kill();
  if (!ending_.timed_out()) {
    ending_.Force();
  }
}

void SupervisedCommand::Condemn(wire::ExitRecord::Cause cause) {
  if (record_.state() == wire::ExecutionRecord::RUNNING) {
    processes_.NoteKilled();
  }
  ending_.Condemn(cause);
}

void SupervisedCommand::Kill() {
  if (!ended()) {
    processes_.NoteKilled();
  }
  processes_.Kill();
}

bool SupervisedCommand::Concerns(const wire::Signal& signal) const {
  if (state_ != State::kEnding) {
    return true;
  }
  if (signal.scope() != wire::Signal::TREE) {
    return false;
  }
  const bool kills = signal.signal() == SIGKILL || signal.kill_after_ns() >= 0;
  return processes_.any() || (kills && ending_.waits_for_disk());
}

absl::Status SupervisedCommand::Signal(const wire::Signal& signal) {
  if (ended()) {
    // Not done yet if the end was just reported. Without a group there is
    // nothing that a signal could reach.
    (void)ReleaseCgroup();
  }
  if (!Concerns(signal)) {
    return MakeFailure(wire::Reply::EXECUTION_ENDED,
                       "no process of the execution runs any more");
  }
  if (signal.scope() == wire::Signal::FOREGROUND_GROUP) {
    RETURN_IF_ERROR(output_.terminal().status());
  }
  if (state_ == State::kStarting) {
    early_signals_.push_back(signal);
    return absl::OkStatus();
  }
  return Deliver(signal);
}

absl::Status SupervisedCommand::Deliver(const wire::Signal& signal) {
  if (signal.scope() == wire::Signal::FOREGROUND_GROUP) {
    ASSIGN_OR_RETURN(const int terminal, output_.terminal());
    RETURN_IF_ERROR(
        processes_.SignalForegroundGroup(terminal, signal.signal()));
  } else if (signal.scope() == wire::Signal::LEADER) {
    processes_.SignalLeader(signal.signal());
  } else if (signal.signal() == SIGKILL) {
    Kill();
    ending_.Force();
  } else {
    processes_.SignalTree(signal.signal());
  }
  // This is early enough: the loop sees the command's end only after this
  // returns.
  if (signal.signal() != 0) {
    ending_.NoteClientSignal(signal.signal());
  }
  if (signal.kill_after_ns() >= 0) {
    timeouts_.KillAfter(absl::Nanoseconds(signal.kill_after_ns()));
  }
  return absl::OkStatus();
}

void SupervisedCommand::WriteInput(const wire::WriteInput& input,
                                   InputChannel::Done done) {
  if (input_ == nullptr) {
    done(MakeFailure(wire::Reply::NO_INPUT,
                     "the execution was started without standard input"),
         wire::InputState());
    return;
  }
  input_->Write(input.append() ? input_->next_offset() : input.offset(),
                input.data(), input.eof(), std::move(done));
}

bool SupervisedCommand::ReleaseCgroup() {
  if (!processes_.ReleaseGroup([this](std::unique_ptr<CommandGroup>& group) {
        return host_->spares->GiveBack(group);
      })) {
    return false;
  }
  timeouts_.CancelKill();
  oom_watch_.Stop();
  return true;
}

bool SupervisedCommand::RemoveFiles() {
  if (!files_.valid()) {
    return true;
  }
  ending_.StopWriting();
  host_->sync->Cancel(files_.path());
  const absl::Status removed = files_.Remove(report());
  if (!removed.ok()) {
    host_->storage->Fail(this, absl::StrCat("removal of ", record_.id()),
                         removed);
  }
  return removed.ok();
}

}  // namespace sandbox

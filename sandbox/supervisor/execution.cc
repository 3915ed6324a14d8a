#include "sandbox/supervisor/execution.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/command_streams.h"
#include "sandbox/supervisor/oom_log.h"
#include "sandbox/supervisor/reap.h"

namespace sandbox {
namespace {

constexpr absl::Duration kReapRetry = absl::Milliseconds(10);

int64_t Nanoseconds(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

}  // namespace

absl::StatusOr<Cgroup> ExecutionHost::MakeCgroup() {
  ASSIGN_OR_RETURN(Cgroup made,
                   cgroup->CreateChild(absl::StrCat("e-", next_number++)));
  RETURN_IF_ERROR(made.Delegate(first_id));
  return made;
}

absl::StatusOr<ExecutionFiles> ExecutionHost::MakeFiles() {
  // No execution's id has a dot.
  return ExecutionFiles::Create(
      directory, absl::StrCat(".spare-", next_number++), /*terminal=*/false);
}

Execution::Execution(ExecutionHost* host, wire::StartExecution start)
    : host_(host),
      command_(std::move(*start.mutable_command())),
      timeouts_(command_) {
  record_.set_id(start.id());
  if (start.has_request()) {
    record_.mutable_request()->Swap(start.mutable_request());
  }
  times_.Create(&record_);
}

Execution::~Execution() {
  for (auto* timer :
       {&wall_timer_, &cpu_timer_, &kill_timer_, &group_timer_, &drain_timer_,
        &reap_timer_, &write_timer_, &expire_timer_}) {
    Cancel(*timer);
  }
  if (pidfd_.valid()) {
    host_->loop->Unwatch(pidfd_.get());
  }
  host_->quota->RemoveEnded(this);
  host_->storage->Succeed(this);
}

bool Execution::ended() const {
  return record_.state() == wire::ExecutionRecord::EXITED ||
         record_.state() == wire::ExecutionRecord::FAILED_TO_START;
}

void Execution::Start(absl::AnyInvocable<void(absl::Status)> done) {
  const absl::Status prepared = Prepare();
  if (!prepared.ok()) {
    outputs_.clear();
    RemoveCgroup();
    RemoveFiles();
    done(prepared);
    return;
  }
  Spawner::Job job;
  job.command = &command_;
  for (const UniqueFd& fd : command_fds_) {
    job.fds.push_back(fd.get());
  }
  for (const int entry : cgroup_.EntryFds()) {
    job.fds.push_back(entry);
  }
  job.cgroup_v2 = cgroup_.version() == CgroupVersion::kV2;
  job.done = [this, done = std::move(done)](UniqueFd pidfd,
                                            SpawnAnswer answer) mutable {
    OnSpawned(std::move(pidfd), answer, std::move(done));
  };
  host_->spawner->Spawn(std::move(job));
}

absl::Status Execution::Prepare() {
  RETURN_IF_ERROR(TakeFiles(command_.terminal_rows() != 0));
  if (host_->spare_cgroup.valid()) {
    cgroup_ = std::move(host_->spare_cgroup);
  } else {
    ASSIGN_OR_RETURN(cgroup_, host_->MakeCgroup());
  }
  RETURN_IF_ERROR(OpenStreams());
  if (timeouts_.cpu > absl::ZeroDuration()) {
    // Known now or never.
    RETURN_IF_ERROR(cgroup_.CpuTime().status());
  }
  return WriteStart();
}

void Execution::OnSpawned(UniqueFd pidfd, SpawnAnswer answer,
                          absl::AnyInvocable<void(absl::Status)> done) {
  command_fds_.clear();
  command_.Clear();
  if (answer.stage != SpawnStage::kNone) {
    OnFailedToStart(pidfd, answer);
  } else {
    OnRunning(std::move(pidfd));
  }
  done(absl::OkStatus());
}

void Execution::OnFailedToStart(const UniqueFd& pidfd, SpawnAnswer answer) {
  if (pidfd.valid()) {
    Reap(pidfd.get(), 0);
  }
  for (const auto& output : outputs_) {
    output->Close();
  }
  if (input_ != nullptr) {
    input_->Close();
  }
  times_.End(&record_);
  RemoveCgroup();
  wire::ExecutionRecord end = record_;
  end.set_state(wire::ExecutionRecord::FAILED_TO_START);
  end.mutable_failure()->set_stage(
      static_cast<wire::StartFailure::Stage>(answer.stage));
  end.mutable_failure()->set_errno_value(answer.error);
  End(std::move(end));
}

void Execution::OnRunning(UniqueFd pidfd) {
  pidfd_ = std::move(pidfd);
  host_->loop->Watch(pidfd_.get(), EPOLLIN, [this](uint32_t) { OnExit(); });
  times_.Start(&record_);
  outputs_.front()->NoteStart(record_.start_time_ns());
  StartTimeouts();
  record_.set_state(wire::ExecutionRecord::RUNNING);
  TellState();
  // What was asked for while it was being started.
  DeliverEarlySignals();
  if (condemned_.has_value()) {
    Kill();
  }
}

void Execution::OnExit() {
  host_->loop->Unwatch(pidfd_.get());
  const std::optional<Reaped> reaped = Reap(pidfd_.get(), WNOHANG);
  if (!reaped.has_value()) {
    // A tracer inside may take as long as it likes, so never wait for it. The
    // descriptor stays ready, and says nothing when the tracer lets go.
    reap_timer_ = host_->loop->After(kReapRetry, [this] {
      reap_timer_.reset();
      OnExit();
    });
    return;
  }
  wait_status_ = reaped->wait_status;
  pidfd_.Reset();
  CancelTimeouts();
  const bool killed =
      WIFSIGNALED(wait_status_) && WTERMSIG(wait_status_) == SIGKILL;
  if (killed && !condemned_.has_value() && host_->failing()) {
    // The kernel killed it along with init: no end of its own.
    lost_ = true;
    return;
  }
  reaped_ = true;
  times_.End(&record_);
  const CgroupUsage total = cgroup_.Usage();
  wire::Usage* used = record_.mutable_usage();
  // Without cpuacct the kernel counts only who was waited for.
  used->set_user_time_ns(
      std::max<int64_t>(static_cast<int64_t>(total.user_time_ns),
                        Nanoseconds(reaped->usage.ru_utime)));
  used->set_system_time_ns(
      std::max<int64_t>(static_cast<int64_t>(total.system_time_ns),
                        Nanoseconds(reaped->usage.ru_stime)));
  used->set_memory_peak_bytes(total.memory_peak_bytes);
  used->set_oom_kills(total.oom_kills);
  cause_ = Cause(reaped->pid);
  if (input_ != nullptr) {
    input_->Close();
  }
  Drain();
}

wire::ExitRecord::Cause Execution::Cause(pid_t pid) const {
  const bool signalled = WIFSIGNALED(wait_status_);
  const bool killed = signalled && WTERMSIG(wait_status_) == SIGKILL;
  if (killed && condemned_.has_value()) {
    return *condemned_;
  }
  if (timed_out_.has_value()) {
    return *timed_out_;
  }
  if (signalled && client_signals_.count(WTERMSIG(wait_status_)) != 0) {
    return wire::ExitRecord::CLIENT_SIGNAL;
  }
  if (killed && record_.usage().oom_kills() > 0 &&
      MayBeOomVictim(pid, host_->first_id)) {
    return wire::ExitRecord::OUT_OF_MEMORY;
  }
  return wire::ExitRecord::NORMAL;
}

wire::ExitRecord::Cause Execution::FinalCause() const {
  if (cause_ != wire::ExitRecord::NORMAL) {
    return cause_;
  }
  for (const auto& output : outputs_) {
    if (const auto loss = output->loss(); loss.has_value()) {
      return *loss;
    }
  }
  return cause_;
}

void Execution::Finish(bool output_open) {
  Cancel(drain_timer_);
  wire::ExecutionRecord end = record_;
  end.set_state(wire::ExecutionRecord::EXITED);
  wire::ExitRecord* exit = end.mutable_exit();
  exit->set_wait_status(wait_status_);
  exit->set_cause(FinalCause());
  exit->set_output_open(output_open);
  killed_.WriteTo(exit);
  End(std::move(end));
}

void Execution::TellState() {
  if (input_ != nullptr) {
    *record_.mutable_input() = input_->state();
  }
  host_->on_state(Report());
}

wire::ExecutionRecord Execution::Report() const {
  wire::ExecutionRecord report = record_;
  for (const auto& output : outputs_) {
    *report.add_streams() = output->state();
  }
  return report;
}

bool Execution::RemoveCgroup() {
  if (!cgroup_.Remove().ok()) {
    return false;
  }
  Cancel(kill_timer_);
  Cancel(group_timer_);
  return true;
}

}  // namespace sandbox

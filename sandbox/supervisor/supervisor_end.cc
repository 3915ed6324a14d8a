// The end of a sandbox: it is deleted, or init or the spawner has died.

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"
#include "sandbox/base/small_file.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/supervisor/supervisor.h"

namespace sandbox {
namespace {

constexpr char kInitDied[] = "init died";

// Limit for the server to read the last messages, and the interval at which the
// supervisor checks whether it has.
constexpr absl::Duration kLastMessages = absl::Seconds(10);
constexpr absl::Duration kLastMessagesCheck = absl::Milliseconds(10);

// Records why the sandbox failed, for a later server.
void WriteFailure(const std::string& directory, const wire::SandboxEnd& end) {
  const absl::Status written = ReplaceFile(
      directory + "/failure.pb", SealRecord(end), Durability::kProcess);
  if (!written.ok()) {
    LOG(WARNING) << "cannot record the failure of the sandbox: "
                 << written.ToString();
  }
}

// With init, the kernel kills everything in its pid namespace, the commands and
// mostly the spawner too. Has no effect if they were never made, or were reaped
// before.
void KillAll(const Construction& made) {
  for (const Child* child : {&made.init, &made.spawner}) {
    ::syscall(SYS_pidfd_send_signal, child->pidfd.get(), SIGKILL, nullptr, 0);
  }
}

}  // namespace

void Supervisor::Enter(State next) {
  switch (next) {
    case State::kNew:
      LOG(FATAL) << "a sandbox cannot become new again";
      break;
    case State::kComplete:
      CHECK(state_ == State::kNew);
      break;
    case State::kReady:
      CHECK(state_ == State::kNew || state_ == State::kComplete);
      break;
    case State::kDeleting:
      CHECK(state_ == State::kReady);
      break;
    case State::kEnded:
      CHECK(state_ != State::kEnded);
      break;
  }
  state_ = next;
  if (next == State::kDeleting || next == State::kEnded) {
    BeginAllStarts();  // they are refused
  }
}

void Supervisor::Abandon() {
  Enter(State::kEnded);
  CleanUp();
  loop_->Stop();
}

void Supervisor::DeleteSandbox(uint64_t request_id,
                               wire::ExitRecord::Cause cause) {
  delete_requests_.push_back(request_id);
  if (state_ != State::kReady) {
    return;
  }
  if (commands_.AnyIsLost()) {
    Fail(wire::SandboxEnd::INIT_DIED, kInitDied);
    return;
  }
  Enter(State::kDeleting);
  commands_.Condemn(cause);
  groups_.LiftDiskSpeed();
  KillAll(construction_);
  spawner_.reset();
  TryEnd();
}

bool Supervisor::InitEnds() const { return IsExiting(init_stat_); }

void Supervisor::OnInitExit() {
  if (state_ != State::kDeleting) {
    Fail(wire::SandboxEnd::INIT_DIED, kInitDied);
    return;
  }
  // CleanUp() reaps it.
  loop_->Unwatch(construction_.init.pidfd.get());
}

void Supervisor::OnSpawnerExit() {
  // The kernel kills the spawner with init, and its end may be seen first.
  if (InitEnds()) {
    Fail(wire::SandboxEnd::INIT_DIED, kInitDied);
  } else {
    Fail(wire::SandboxEnd::SPAWNER_DIED, "the spawner died");
  }
}

void Supervisor::OnProtectionLost(const absl::Status& why) {
  // The mounts of a sandbox that ends cannot be entered.
  if (InitEnds()) {
    Fail(wire::SandboxEnd::INIT_DIED, kInitDied);
  } else {
    Fail(wire::SandboxEnd::PROTECTION_LOST, std::string(why.message()));
  }
}

void Supervisor::TryEnd() {
  if (state_ != State::kDeleting || commands_.AnyRuns()) {
    return;
  }
  Enter(State::kEnded);
  CleanUp();
  for (const uint64_t request : delete_requests_) {
    Reply(request, absl::OkStatus());
  }
  StopWhenRead(kLastMessages);
}

void Supervisor::StopWhenRead(absl::Duration patience) {
  if (control_.idle() || patience <= absl::ZeroDuration()) {
    loop_->Stop();
    return;
  }
  loop_->After(kLastMessagesCheck, [this, patience] {
    StopWhenRead(patience - kLastMessagesCheck);
  });
}

void Supervisor::Fail(wire::SandboxEnd::Cause cause, const std::string& why) {
  if (state_ == State::kNew || state_ == State::kComplete) {
    // The server notices the end of this process. It starts another supervisor
    // when it needs one, or at once if it has asked for the sandbox.
    LOG(WARNING) << "no sandbox: " << why;
    Abandon();
    return;
  }
  if (state_ != State::kReady) {
    return;
  }
  LOG(ERROR) << "sandbox failed: " << why;
  Enter(State::kEnded);
  wire::FromSupervisor message;
  message.mutable_failed()->set_cause(cause);
  message.mutable_failed()->set_message(why);
  WriteFailure(directory_, message.failed());
  control_.Send(std::move(message));
  CleanUp();
  // How the commands ended is unknown, so no end is reported.
  commands_.Clear();
  // The spawner's answers refer to the commands. Deferred: the spawner may be
  // on the stack.
  loop_->Defer([this] { spawner_.reset(); });
  StopWhenRead(kLastMessages);
}

void Supervisor::CleanUp() {
  // From here on, the server may remove or read the directory.
  sync_.Stop();
  way_out_.reset();
  groups_.LiftDiskSpeed();
  loop_->Unwatch(construction_.init.pidfd.get());
  KillAll(construction_);
  // The spawner and the commands are children of this process, also one that is
  // being started, and init ends only after they were reaped.
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  // It holds the sandbox's mounts.
  mode_calls_.reset();
  // Removes placeholders, which nothing inside can make anew.
  protection_.reset();
  space_.reset();
  spares_.Stop();
  commands_.ReleaseCgroups();
  groups_.Remove();
}

}  // namespace sandbox

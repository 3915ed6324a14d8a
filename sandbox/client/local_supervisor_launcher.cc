#include "sandbox/client/local_supervisor_launcher.h"

#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "sandbox/client/sandbox_creation.h"
#include "sandbox/client/supervisor_process.h"
#include "sandbox/kernel/abandoned_cgroups.h"
#include "sandbox/kernel/user_namespace.h"
#include "sandbox/supervisor/sandbox_shape.h"

namespace sandbox {
namespace {

// Spares are made while nobody waits for the sandbox that took one: until then
// its first command has run, most of the time.
constexpr std::chrono::milliseconds kSpareDelay(20);
// The delay if there was none to take, and the next request may come at once.
constexpr std::chrono::milliseconds kUrgentSpareDelay(2);
// The interval at which the maker of spares looks whether one became ready.
constexpr std::chrono::milliseconds kMakingCheck(2);
// Limit for a prepared supervisor, which has little left to do, to make its
// sandbox. One that was stopped (SIGSTOP) would never answer.
constexpr absl::Duration kSparePatience = absl::Seconds(5);
// A wait without an end.
constexpr std::chrono::hours kLongestWait(24);

// No connection gives this number to a request.
constexpr uint64_t kCompletion = UINT64_MAX;

// The processors that this process may use.
size_t CountProcessors() {
  cpu_set_t processors;
  return ::sched_getaffinity(0, sizeof(processors), &processors) == 0
             ? static_cast<size_t>(CPU_COUNT(&processors))
             : 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalSupervisorLauncher>>
LocalSupervisorLauncher::Create() {
  ASSIGN_OR_RETURN(std::unique_ptr<EventLoop> loop, EventLoop::Create());
  ASSIGN_OR_RETURN(UniqueFd image, MakeSupervisorImage());
  return std::unique_ptr<LocalSupervisorLauncher>(
      new LocalSupervisorLauncher(std::move(loop), std::move(image)));
}

LocalSupervisorLauncher::LocalSupervisorLauncher(
    std::unique_ptr<EventLoop> loop, UniqueFd image)
    : loop_(std::move(loop)),
      image_(std::move(image)),
      commands_are_this_user_(CommandsAreThisUser()),
      thread_([this] { loop_->Run(); }),
      spares_(CountProcessors()),
      provider_([this] { Provide(); }) {}

LocalSupervisorLauncher::~LocalSupervisorLauncher() {
  EndSpares();
  loop_->Stop();
  thread_.join();
  MutexLock lock(&mutex_);
  // If the sandboxes live on, the next server does it.
  if (!let_go_ && sweep_at_ != Clock::time_point::max()) {
    RemoveAbandonedCgroups();
  }
}

void LocalSupervisorLauncher::EndSpares() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    mutex_.Signal();
  }
  if (provider_.joinable()) {
    provider_.join();
  }
  MutexLock lock(&mutex_);
  spares_.Clear();
}

void LocalSupervisorLauncher::LetGo() {
  let_go_ = true;
  // Waits for one turn of the loop: while it runs this function, it runs no
  // callback, and later callbacks see let_go_.
  Mutex mutex;
  bool done = false;
  loop_->Post([&] {
    MutexLock lock(&mutex);
    done = true;
    mutex.Signal();
  });
  {
    MutexLock lock(&mutex);
    mutex.Await([&] { return done; });
  }
  EndSpares();
}

void LocalSupervisorLauncher::Provide() {
  for (;;) {
    switch (AwaitTask()) {
      case Task::kNone:
        break;
      case Task::kStop:
        return;
      case Task::kMakeSpare:
        MakeSpare();
        break;
      case Task::kTrim:
        TrimSpares();
        break;
      case Task::kSweep:
        Sweep();
        break;
    }
  }
}

LocalSupervisorLauncher::Clock::time_point LocalSupervisorLauncher::make_at()
    const {
  return can_start_ && spares_.Lacking().has_value() ? make_at_
                                                     : Clock::time_point::max();
}

LocalSupervisorLauncher::Task LocalSupervisorLauncher::NextTask() const {
  if (stopping_) {
    return Task::kStop;
  }
  const Clock::time_point now = Clock::now();
  if (spares_.trim_at() <= now) {
    return Task::kTrim;
  }
  if (make_at() <= now) {
    return Task::kMakeSpare;
  }
  return sweep_at_ <= now ? Task::kSweep : Task::kNone;
}

LocalSupervisorLauncher::Task LocalSupervisorLauncher::AwaitTask() {
  MutexLock lock(&mutex_);
  const Clock::time_point latest = Clock::now() + kLongestWait;
  const Clock::time_point planned = make_at();
  // Ends early when a spare is to be made before that.
  mutex_.AwaitUntil(std::min({sweep_at_, spares_.trim_at(), planned, latest}),
                    [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                      return NextTask() != Task::kNone || make_at() < planned;
                    });
  return NextTask();
}

std::optional<LocalSupervisorLauncher::Shape>
LocalSupervisorLauncher::ShapeToMake() {
  MutexLock lock(&mutex_);
  const Clock::time_point now = Clock::now();
  std::optional<Shape> shape = spares_.ShapeToMake(now);
  if (!shape.has_value()) {
    make_at_ = now + kMakingCheck;
  }
  return shape;
}

void LocalSupervisorLauncher::MakeSpare() {
  const std::optional<Shape> shape = ShapeToMake();
  if (!shape.has_value()) {
    return;
  }
  absl::StatusOr<SupervisorProcess> started = StartSpare(*shape);
  MutexLock lock(&mutex_);
  if (started.ok()) {
    spares_.Add(*shape, *std::move(started), Clock::now());
  } else {
    can_start_ = false;
    // Create() tries itself, and reports its error.
    LOG(ERROR) << "cannot start a spare supervisor: "
               << started.status().ToString();
  }
}

void LocalSupervisorLauncher::TrimSpares() {
  std::vector<SupervisorProcess> over;
  MutexLock lock(&mutex_);
  over = spares_.Trim(Clock::now());
}

void LocalSupervisorLauncher::Sweep() {
  bool again = false;
  {
    MutexLock lock(&mutex_);
    sweep_at_ = Clock::time_point::max();
    again = std::exchange(sweep_twice_, false);
  }
  const bool clean = RemoveAbandonedCgroups();
  MutexLock lock(&mutex_);
  if (again || !clean) {
    sweep_at_ = std::min(sweep_at_, Clock::now() + sweep_retry_);
    sweep_retry_ = std::min<Clock::duration>(2 * sweep_retry_, kLastSweepRetry);
  }
}

void LocalSupervisorLauncher::CleanUp() {
  MutexLock lock(&mutex_);
  sweep_at_ = Clock::time_point::min();
  sweep_twice_ = true;
  sweep_retry_ = kSweepRetry;
  mutex_.Signal();
}

absl::StatusOr<SupervisorProcess> LocalSupervisorLauncher::StartSpare(
    const Shape& shape) {
  wire::ToSupervisor request;
  wire::SandboxSpec& spec = *request.mutable_complete_sandbox();
  CHECK(spec.ParseFromString(shape));
  ASSIGN_OR_RETURN(SupervisorProcess spare,
                   StartReapedSupervisor(spec.profile()));
  request.set_request_id(kCompletion);
  RETURN_IF_ERROR(spare.socket.Send(request));
  return spare;
}

absl::StatusOr<SupervisorProcess>
LocalSupervisorLauncher::StartReapedSupervisor(
    wire::SandboxSpec::Profile profile) {
  ASSIGN_OR_RETURN(SupervisorProcess started, StartSupervisor(image_, profile));
  loop_->Post([this, pidfd = started.pidfd] {
    loop_->Watch(pidfd->get(), EPOLLIN, [this, pidfd](uint32_t) {
      siginfo_t info = {};
      ::waitid(P_PIDFD, static_cast<id_t>(pidfd->get()), &info, WEXITED);
      loop_->Unwatch(pidfd->get());
      pidfd->Reset();
      if (info.si_code != CLD_EXITED) {
        if (info.si_status == SIGSYS) {
          LOG(ERROR) << "a supervisor was killed because it made a system call "
                        "that it never makes; the kernel's log has its number";
        }
        CleanUp();
      }
    });
  });
  return started;
}

SupervisorProcess LocalSupervisorLauncher::TakeSpareOf(
    const wire::SandboxSpec& shape) {
  SupervisorProcess spare;
  {
    const Clock::time_point now = Clock::now();
    MutexLock lock(&mutex_);
    const bool lacked = spares_.Lacking().has_value();
    spare = spares_.Take(shape.SerializeAsString(), now);
    if (!spare.socket.valid()) {
      make_at_ = now + kUrgentSpareDelay;
    } else if (!lacked) {
      make_at_ = now + kSpareDelay;
    }
  }
  return IsAlive(spare) ? std::move(spare) : SupervisorProcess();
}

SupervisorProcess LocalSupervisorLauncher::TakeSpare(
    const wire::SandboxSpec& spec) {
  SupervisorProcess spare;
  // Without root, mounts below a workspace appear in it as they are when it is
  // lent, so it is lent when the sandbox is requested.
  if (!commands_are_this_user_ && CanBeCompletedAhead(spec)) {
    spare = TakeSpareOf(ShapeOf(spec));
  }
  return spare.socket.valid() ? std::move(spare)
                              : TakeSpareOf(ProfileOnly(spec));
}

absl::StatusOr<SupervisorProcess> LocalSupervisorLauncher::ReplaceSupervisor(
    const wire::SandboxSpec& spec) {
  std::vector<SupervisorProcess> stale;
  {
    // Their workspaces may be gone, too.
    MutexLock lock(&mutex_);
    stale = spares_.Forget(ShapeOf(spec).SerializeAsString());
  }
  SupervisorProcess spare = TakeSpareOf(ProfileOnly(spec));
  mutex_.Signal();
  if (spare.socket.valid()) {
    return spare;
  }
  return StartReapedSupervisor(spec.profile());
}

std::unique_ptr<SupervisorConnection> LocalSupervisorLauncher::Create(
    const wire::SandboxSpec& spec, SupervisorObserver* observer,
    Created created) {
  SupervisorProcess spare = TakeSpare(spec);
  const bool prepared = spare.socket.valid();
  absl::StatusOr<SupervisorProcess> process =
      prepared ? std::move(spare) : StartReapedSupervisor(spec.profile());
  if (!process.ok()) {
    std::unique_ptr<LocalSupervisorConnection> none =
        Connect(PacketSocket(), observer);
    none->FailCreation(
        WithFailure(wire::Reply::SHORTAGE, std::move(process).status()),
        std::move(created));
    mutex_.Signal();
    return none;
  }
  if (!prepared) {
    MutexLock lock(&mutex_);
    can_start_ = true;
  }
  std::unique_ptr<LocalSupervisorConnection> connection =
      Connect(std::move(process->socket), observer);
  connection->Create(
      spec, std::move(process->pidfd),
      prepared ? kSparePatience : SandboxCreation::kFreshPatience,
      [this, spec] { return ReplaceSupervisor(spec); }, std::move(created));
  // The maker of spares is woken after the request: to wake a thread takes
  // long.
  mutex_.Signal();
  return connection;
}

absl::StatusOr<std::unique_ptr<SupervisorConnection>>
LocalSupervisorLauncher::Adopt(const wire::SandboxSpec& spec,
                               SupervisorObserver* observer) {
  ASSIGN_OR_RETURN(PacketSocket socket,
                   PacketSocket::Connect(spec.directory(), "control.sock"));
  ASSIGN_OR_RETURN(UniqueFd pidfd, socket.PeerProcess());
  std::unique_ptr<LocalSupervisorConnection> connection =
      Connect(std::move(socket), observer);
  connection->Listen(std::make_shared<const UniqueFd>(std::move(pidfd)));
  return connection;
}

std::unique_ptr<LocalSupervisorConnection> LocalSupervisorLauncher::Connect(
    PacketSocket socket, SupervisorObserver* observer) {
  return std::make_unique<LocalSupervisorConnection>(
      loop_.get(), thread_.get_id(), std::move(socket), observer, &let_go_,
      [this] { CleanUp(); });
}

}  // namespace sandbox

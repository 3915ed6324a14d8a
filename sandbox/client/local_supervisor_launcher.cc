#include "sandbox/client/local_supervisor_launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "sandbox/kernel/abandoned_cgroups.h"
#include "sandbox/supervisor/supervisor_image.h"

namespace sandbox {
namespace {

constexpr absl::Duration kSpareDelay = absl::Milliseconds(2);
// How long a supervisor may take that has little left to do. One that was
// stopped meanwhile does nothing.
constexpr absl::Duration kSparePatience = absl::Seconds(5);

// A sandbox whose supervisor could not even be started.
class StillbornSandbox : public SupervisorConnection {
 public:
  void Start(wire::StartExecution, Done done) override {
    Refuse(std::move(done));
  }
  void Signal(wire::Signal, Done done) override { Refuse(std::move(done)); }
  void Resize(wire::Resize, Done done) override { Refuse(std::move(done)); }
  void WriteInput(wire::WriteInput, InputDone done) override {
    done(MakeFailure(wire::Reply::SUPERVISOR_GONE, "no supervisor"),
         wire::InputState());
  }
  void Acknowledge(wire::Acknowledge) override {}
  void DeleteExecution(const std::string&, Done done) override {
    Refuse(std::move(done));
  }
  void DeleteSandbox(wire::ExitRecord::Cause, Done done) override {
    Refuse(std::move(done));
  }

 private:
  static void Refuse(Done done) {
    done(MakeFailure(wire::Reply::SUPERVISOR_GONE, "no supervisor"));
  }
};

// A supervisor that was not asked for anything says nothing: what can be read
// from it is its end.
bool IsAlive(const PacketSocket& supervisor) {
  pollfd poll = {supervisor.fd(), POLLIN, 0};
  return supervisor.valid() && ::poll(&poll, 1, 0) == 0;
}

absl::StatusOr<UniqueFd> MakeImage() {
  const absl::string_view image = SupervisorImage();
  UniqueFd memfd(::memfd_create("corral-supervisor", MFD_CLOEXEC));
  if (!memfd.valid() || ::write(memfd.get(), image.data(), image.size()) !=
                            static_cast<ssize_t>(image.size())) {
    return absl::ErrnoToStatus(errno, "memfd of corral-supervisor");
  }
  // Executing a file that is open for writing is refused (ETXTBSY).
  UniqueFd read_only(::open(absl::StrCat("/proc/self/fd/", memfd.get()).c_str(),
                            O_RDONLY | O_CLOEXEC));
  if (!read_only.valid()) {
    return absl::ErrnoToStatus(errno, "reopen memfd");
  }
  return read_only;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalSupervisorLauncher>>
LocalSupervisorLauncher::Create() {
  ASSIGN_OR_RETURN(std::unique_ptr<EventLoop> loop, EventLoop::Create());
  ASSIGN_OR_RETURN(UniqueFd image, MakeImage());
  return std::unique_ptr<LocalSupervisorLauncher>(
      new LocalSupervisorLauncher(std::move(loop), std::move(image)));
}

LocalSupervisorLauncher::LocalSupervisorLauncher(
    std::unique_ptr<EventLoop> loop, UniqueFd image)
    : loop_(std::move(loop)),
      image_(std::move(image)),
      thread_([this] { loop_->Run(); }),
      provider_([this] { Provide(); }) {}

LocalSupervisorLauncher::~LocalSupervisorLauncher() {
  EndSpare();
  loop_->Stop();
  thread_.join();
}

void LocalSupervisorLauncher::EndSpare() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    mutex_.Signal();
  }
  if (provider_.joinable()) {
    provider_.join();
  }
  // Closing its socket ends the spare.
  MutexLock lock(&mutex_);
  spare_ = SupervisorProcess();
}

void LocalSupervisorLauncher::LetGo() {
  let_go_ = true;
  // Callbacks that run have returned when the loop comes to this.
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
  EndSpare();
}

void LocalSupervisorLauncher::Provide() {
  for (;;) {
    bool unclean = false;
    {
      MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return stopping_ || unclean_ ||
               (spare_wanted_ && !spare_.socket.valid());
      });
      if (stopping_) {
        return;
      }
      unclean = unclean_ && (!spare_wanted_ || spare_.socket.valid());
      if (unclean) {
        unclean_ = false;
      }
    }
    if (unclean) {
      RemoveAbandonedCgroups();
      continue;
    }
    // What the last one was taken for goes first: on few cores the two would
    // slow each other down.
    absl::SleepFor(kSpareDelay);
    absl::StatusOr<SupervisorProcess> started = StartSupervisor();
    MutexLock lock(&mutex_);
    if (started.ok()) {
      spare_ = *std::move(started);
    } else {
      LOG(ERROR) << "no supervisor ahead: " << started.status().ToString();
      spare_wanted_ = false;  // Create() tries, and tells its caller
    }
  }
}

void LocalSupervisorLauncher::CleanUp() {
  MutexLock lock(&mutex_);
  unclean_ = true;
  mutex_.Signal();
}

absl::StatusOr<SupervisorProcess> LocalSupervisorLauncher::StartSupervisor() {
  ASSIGN_OR_RETURN(auto pair, PacketSocket::Pair());
  // Above 3, so that putting it on 3 clears its close-on-exec flag.
  const UniqueFd control(::fcntl(pair.second.fd(), F_DUPFD_CLOEXEC, 16));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  ::posix_spawn_file_actions_adddup2(&actions, control.get(), 3);
  // The program must be open when the child executes it; it closes it then.
  ::posix_spawn_file_actions_adddup2(&actions, image_.get(), 4);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 5);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char name[] = "corral-supervisor";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  pid_t pid;
  const int error = ::posix_spawn(&pid, "/proc/self/fd/4", &actions,
                                  &attributes, arguments, environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::ErrnoToStatus(error, "start corral-supervisor");
  }
  auto pidfd = std::make_shared<UniqueFd>(
      static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd->valid()) {
    absl::Status failed = absl::ErrnoToStatus(errno, "pidfd_open");
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return failed;
  }
  loop_->Post([this, pidfd] {
    loop_->Watch(pidfd->get(), EPOLLIN, [this, pidfd](uint32_t) {
      siginfo_t info = {};
      ::waitid(P_PIDFD, static_cast<id_t>(pidfd->get()), &info, WEXITED);
      loop_->Unwatch(pidfd->get());
      pidfd->Reset();
      if (info.si_code != CLD_EXITED) {
        CleanUp();
      }
    });
  });
  return SupervisorProcess{std::move(pair.first), std::move(pidfd)};
}

std::unique_ptr<SupervisorConnection> LocalSupervisorLauncher::Create(
    const wire::SandboxSpec& spec, SupervisorObserver* observer,
    Created created) {
  SupervisorProcess spare;
  {
    MutexLock lock(&mutex_);
    std::swap(spare, spare_);
    mutex_.Signal();
  }
  const bool prepared = IsAlive(spare.socket);
  absl::StatusOr<SupervisorProcess> process =
      prepared ? std::move(spare) : StartSupervisor();
  if (!process.ok()) {
    loop_->Post([started = process.status(), observer,
                 created = std::move(created)]() mutable {
      created(WithFailure(wire::Reply::SHORTAGE, started));
      wire::SandboxEnd end;
      end.set_cause(wire::SandboxEnd::SUPERVISOR_DIED);
      end.set_message(std::string(started.message()));
      observer->OnGone(end);
    });
    return std::make_unique<StillbornSandbox>();
  }
  auto link = std::make_unique<LocalSupervisorConnection>(
      loop_.get(), thread_.get_id(), std::move(process->socket), observer,
      &let_go_, [this] { CleanUp(); });
  link->Create(
      spec, std::move(process->pidfd),
      prepared ? kSparePatience : LocalSupervisorConnection::kFreshPatience,
      [this] { return StartSupervisor(); }, std::move(created));
  return link;
}

absl::StatusOr<std::unique_ptr<SupervisorConnection>>
LocalSupervisorLauncher::Adopt(const wire::SandboxSpec& spec,
                               SupervisorObserver* observer) {
  ASSIGN_OR_RETURN(PacketSocket socket,
                   PacketSocket::Connect(spec.directory(), "control.sock"));
  ASSIGN_OR_RETURN(UniqueFd pidfd, socket.PeerProcess());
  auto link = std::make_unique<LocalSupervisorConnection>(
      loop_.get(), thread_.get_id(), std::move(socket), observer, &let_go_,
      [this] { CleanUp(); });
  link->Listen(std::make_shared<const UniqueFd>(std::move(pidfd)));
  return link;
}

}  // namespace sandbox

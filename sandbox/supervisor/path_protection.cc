#include "sandbox/supervisor/path_protection.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/privileges.h"
#include "sandbox/supervisor/construction_report.h"

namespace sandbox {
namespace {

constexpr char kName[] = "corral-paths";

// The part that runs in the process beside the supervisor.
class Keeper {
 public:
  // `mounts`: the mountinfo of init, which reports changes of its namespace to
  // poll(2).
  Keeper(const UniqueFd& socket, const UniqueFd& init, const UniqueFd& mounts,
         std::vector<ReadOnlyPaths>* paths)
      : socket_(socket), init_(init), mounts_(mounts), paths_(paths) {}

  // Returns when the supervisor has closed the socket.
  int Run() {
    const absl::Status begun = Begin();
    SendReport(socket_.get(), begun, {});
    if (begun.ok()) {
      KeepCovered();
    }
    if (SideProcess::AwaitSandboxEnd(socket_, init_)) {
      for (const ReadOnlyPaths& paths : *paths_) {
        paths.Uncover();
      }
      paths_->clear();
    }
    return begun.ok() ? 0 : 1;
  }

 private:
  absl::Status Begin() {
    if (::setns(init_.get(), CLONE_NEWNS) != 0) {
      return absl::ErrnoToStatus(errno, "enter the mount namespace");
    }
    ::umask(022);
    RETURN_IF_ERROR(
        KeepAtMost({CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER,
                    CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN}));
    moves_.Reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!moves_.valid()) {
      LOG(WARNING) << "moves of read-only paths on the host are noticed late: "
                   << absl::ErrnoToStatus(
                          errno,
                          "inotify_init (fs.inotify.max_user_instances)");
    }
    return Cover().status();
  }

  absl::StatusOr<int> Cover() {
    int mounts = 0;
    for (ReadOnlyPaths& paths : *paths_) {
      ASSIGN_OR_RETURN(const int made, paths.Cover(moves_.get()));
      mounts += made;
    }
    return mounts;
  }

  void KeepCovered() {
    pollfd events[] = {{socket_.get(), POLLIN, 0},
                       {mounts_.get(), POLLPRI, 0},
                       {moves_.get(), POLLIN, 0}};
    while (events[0].revents == 0) {
      if (::poll(events, 3, -1) < 0 ||
          (events[1].revents == 0 && events[2].revents == 0)) {
        continue;
      }
      char moves[4096];
      while (::read(moves_.get(), moves, sizeof(moves)) > 0) {
      }
      const absl::StatusOr<int> covered = Cover();
      if (!covered.ok()) {
        SendReport(socket_.get(), covered.status(), {});
        events[1].fd = -1;
        events[2].fd = -1;
      } else if (*covered > 0) {
        LOG(WARNING) << "read-only paths were replaced on the host; "
                     << *covered << " mounts cover them again";
      }
    }
  }

  const UniqueFd& socket_;
  const UniqueFd& init_;
  const UniqueFd& mounts_;
  std::vector<ReadOnlyPaths>* const paths_;
  // Reports moves; not valid where the host has no inotify left.
  UniqueFd moves_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PathProtection>> PathProtection::Begin(
    EventLoop* loop, const Child& init, std::vector<ReadOnlyPaths> paths,
    OnLoss on_loss) {
  const UniqueFd process(::fcntl(init.pidfd.get(), F_DUPFD_CLOEXEC, 0));
  const std::string path = absl::StrCat("/proc/", init.pid, "/mountinfo");
  // Opened before anything is covered: it reports the changes from then on.
  const UniqueFd mounts(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!process.valid() || !mounts.valid()) {
    const int error = errno;
    return IsExiting(init.pid)
               ? KilledError("init")
               : absl::ErrnoToStatus(error, absl::StrCat("open ", path));
  }
  std::vector<int> kept = {process.get(), mounts.get()};
  for (const ReadOnlyPaths& each : paths) {
    kept.push_back(each.workspace());
  }
  ASSIGN_OR_RETURN(SideProcess keeper,
                   SideProcess::Start(kName, kept, [&](const UniqueFd& socket) {
                     return Keeper(socket, process, mounts, &paths).Run();
                   }));
  // Owned from here on: its destructor ends the process in order.
  std::unique_ptr<PathProtection> protection(
      new PathProtection(loop, std::move(keeper), std::move(on_loss)));
  const absl::Status covered =
      ReceiveReport(protection->keeper_.socket(), kName).status();
  if (!covered.ok()) {
    return IsExiting(init.pid) ? KilledError("init") : covered;
  }
  return protection;
}

PathProtection::PathProtection(EventLoop* loop, SideProcess keeper,
                               OnLoss on_loss)
    : loop_(loop), keeper_(std::move(keeper)), on_loss_(std::move(on_loss)) {
  loop_->Watch(keeper_.socket(), EPOLLIN, [this](uint32_t) { OnReport(); });
}

PathProtection::~PathProtection() {
  if (watching_) {
    loop_->Unwatch(keeper_.socket());
  }
  keeper_.ReportSandboxEnd();
}

void PathProtection::OnReport() {
  absl::Status lost = ReceiveReport(keeper_.socket(), kName).status();
  if (lost.ok() || absl::IsAborted(lost)) {
    lost = absl::InternalError(absl::StrCat(kName, " has ended"));
  }
  loop_->Unwatch(keeper_.socket());
  watching_ = false;
  // The callback may delete this object.
  const OnLoss on_loss = on_loss_;
  on_loss(lost);
}

}  // namespace sandbox

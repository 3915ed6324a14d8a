#include "sandbox/supervisor/path_protection.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/construction_report.h"

namespace sandbox {
namespace {

// Runs `function` in the mount namespace of the process behind `pidfd`. A
// thread can enter that namespace alone: a process in the sandbox would be in
// reach of what runs there.
template <typename Function>
absl::Status RunInMounts(const UniqueFd& pidfd, Function function) {
  absl::Status status;
  std::thread thread([&] {
    // Only a thread with a root and a working directory of its own can enter.
    if (::unshare(CLONE_FS) != 0 || ::setns(pidfd.get(), CLONE_NEWNS) != 0) {
      status = errno == ESRCH
                   ? KilledError("init")
                   : absl::ErrnoToStatus(errno, "enter the mount namespace");
      return;
    }
    ::umask(022);
    status = function();
  });
  thread.join();
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PathProtection>> PathProtection::Begin(
    EventLoop* loop, const Child& init, std::vector<ReadOnlyPaths> paths,
    OnLoss on_loss) {
  UniqueFd process(::fcntl(init.pidfd.get(), F_DUPFD_CLOEXEC, 0));
  const std::string path = absl::StrCat("/proc/", init.pid, "/mountinfo");
  UniqueFd mounts(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!process.valid() || !mounts.valid()) {
    const int error = errno;
    return IsExiting(init.pid)
               ? KilledError("init")
               : absl::ErrnoToStatus(error, absl::StrCat("open ", path));
  }
  UniqueFd moves(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!moves.valid()) {
    LOG(WARNING) << "moves of read-only paths on the host are noticed late: "
                 << absl::ErrnoToStatus(
                        errno, "inotify_init (fs.inotify.max_user_instances)");
  }
  std::unique_ptr<PathProtection> protection(new PathProtection(
      loop, std::move(process), std::move(mounts), std::move(moves),
      std::move(paths), std::move(on_loss)));
  // Watched before anything is covered: epoll loses the changes before that.
  loop->Watch(protection->mounts_.get(), EPOLLPRI,
              [raw = protection.get()](uint32_t) { raw->OnChange(); });
  if (protection->moves_.valid()) {
    loop->Watch(protection->moves_.get(), EPOLLIN,
                [raw = protection.get()](uint32_t) { raw->OnMove(); });
  }
  RETURN_IF_ERROR(protection->Cover().status());
  return protection;
}

PathProtection::PathProtection(EventLoop* loop, UniqueFd init, UniqueFd mounts,
                               UniqueFd moves, std::vector<ReadOnlyPaths> paths,
                               OnLoss on_loss)
    : loop_(loop),
      init_(std::move(init)),
      mounts_(std::move(mounts)),
      moves_(std::move(moves)),
      paths_(std::move(paths)),
      on_loss_(std::move(on_loss)) {}

PathProtection::~PathProtection() { Unwatch(); }

void PathProtection::Unwatch() {
  if (!watching_) {
    return;
  }
  loop_->Unwatch(mounts_.get());
  if (moves_.valid()) {
    loop_->Unwatch(moves_.get());
  }
  watching_ = false;
}

absl::StatusOr<int> PathProtection::Cover() {
  int mounts = 0;
  RETURN_IF_ERROR(RunInMounts(init_, [this, &mounts]() -> absl::Status {
    for (ReadOnlyPaths& paths : paths_) {
      ASSIGN_OR_RETURN(const int made, paths.Cover(moves_.get()));
      mounts += made;
    }
    return absl::OkStatus();
  }));
  return mounts;
}

void PathProtection::OnMove() {
  char events[4096];
  while (::read(moves_.get(), events, sizeof(events)) > 0) {
  }
  OnChange();
}

void PathProtection::OnChange() {
  const absl::StatusOr<int> covered = Cover();
  if (!covered.ok()) {
    Unwatch();
    // The callback may delete this object.
    const OnLoss on_loss = on_loss_;
    on_loss(covered.status());
  } else if (*covered > 0) {
    LOG(WARNING) << "read-only paths were replaced on the host; " << *covered
                 << " mounts cover them again";
  }
}

}  // namespace sandbox

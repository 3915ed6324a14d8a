#include "sandbox/supervisor/strange_children.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/time/time.h"

namespace sandbox {
namespace {

// Bounds one look: a command can make children as fast as they are reaped.
constexpr int kMaxChildren = 64;

sigset_t ChildSignal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// Returns a child that has ended and is not reaped yet, or 0.
pid_t EndedChild() {
  siginfo_t info = {};
  const int result = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
  return result == 0 ? info.si_pid : 0;
}

}  // namespace

void BlockChildSignal() {
  const sigset_t set = ChildSignal();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

absl::Status StrangeChildren::Watch() {
  // SA_NOCLDSTOP: a child that only stops sends no signal.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &action, nullptr);
  const sigset_t set = ChildSignal();
  signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) {
    return absl::ErrnoToStatus(errno, "signalfd");
  }
  // A pending signal hides later ones, until a look makes way for them.
  loop_->Watch(signals_.get(), EPOLLIN | EPOLLET,
               [this](uint32_t) { LookLater(); });
  return absl::OkStatus();
}

void StrangeChildren::LookLater() {
  // The watcher of a command reaps it meanwhile, so only other children are
  // left.
  if (!next_look_.pending()) {
    next_look_ = Timer(timers_, kRest, [this] { Look(); });
  }
}

void StrangeChildren::Look() {
  signalfd_siginfo info;
  (void)!::read(signals_.get(), &info, sizeof(info));
  for (int i = 0; i < kMaxChildren; ++i) {
    const pid_t pid = EndedChild();
    if (pid == 0) {
      return;
    }
    switch (host_.recognize(pid)) {
      case Kind::kReaped:
        break;
      case Kind::kOwn:
        return;
      case Kind::kStrange:
        if (!Decide(pid)) {
          return;
        }
        ::waitpid(pid, nullptr, WNOHANG);
        break;
    }
  }
  LookLater();
}

bool StrangeChildren::Decide(pid_t pid) {
  if (awaiting_) {
    return false;
  }
  if (suspect_ == pid) {
    return true;
  }
  awaiting_ = host_.await_starts([this] {
    awaiting_ = false;
    Look();
    if (!awaiting_) {
      suspect_.reset();
    }
  });
  if (awaiting_) {
    suspect_ = pid;
  }
  return !awaiting_;
}

}  // namespace sandbox

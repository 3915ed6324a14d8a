// A process that does nothing until it is killed.

#ifndef TESTS_SUPERVISOR_IDLE_PROCESS_H_
#define TESTS_SUPERVISOR_IDLE_PROCESS_H_

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "sandbox/base/unique_fd.h"

namespace sandbox {

class IdleProcess {
 public:
  IdleProcess() : pid_(::fork()) {
    while (pid_ == 0) {
      ::pause();
    }
    pidfd_ = std::make_shared<UniqueFd>(
        static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~IdleProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  IdleProcess(const IdleProcess&) = delete;
  IdleProcess& operator=(const IdleProcess&) = delete;

  const std::shared_ptr<UniqueFd>& pidfd() const { return pidfd_; }
  // Ends it with SIGTERM. Returns true if nobody has killed it before: a signal
  // that kills is never overtaken.
  bool LivesOn() const {
    ::syscall(SYS_pidfd_send_signal, pidfd_->get(), SIGTERM, nullptr, 0);
    siginfo_t info = {};
    ::waitid(P_PIDFD, static_cast<id_t>(pidfd_->get()), &info,
             WEXITED | WNOWAIT);
    return info.si_status == SIGTERM;
  }
  void AwaitEnd() const {
    pollfd ended = {pidfd_->get(), POLLIN, 0};
    while (::poll(&ended, 1, -1) != 1) {
    }
  }

 private:
  const pid_t pid_;
  std::shared_ptr<UniqueFd> pidfd_;
};

}  // namespace sandbox

#endif  // TESTS_SUPERVISOR_IDLE_PROCESS_H_

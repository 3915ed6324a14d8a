#include "bridge/acp/agent/agent_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "bridge/acp/agent/children.h"

namespace bridge {
namespace {

// How long the keeper kills the remaining processes before it gives up, and how
// long it waits in between for them to die. A process in an uninterruptible
// system call may need longer; the keeper then exits without it.
constexpr int kKillSeconds = 5;
constexpr int kKillWaitMilliseconds = 10;

time_t MonotonicSeconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

void SendReport(int socket, KeeperReport::Kind kind, int value) {
  const KeeperReport report = {kind, value};
  (void)!::send(socket, &report, sizeof report, MSG_NOSIGNAL);
}

// Closes every descriptor but these two and standard input, output and error.
void CloseAllBut(int a, int b) {
  const unsigned low = a < b ? a : b;
  const unsigned high = a < b ? b : a;
  const auto close_range = [](unsigned first, unsigned last) {
    if (first <= last) {
      ::syscall(SYS_close_range, first, last, 0);
    }
  };
  close_range(STDERR_FILENO + 1, low - 1);
  close_range(low + 1, high - 1);
  close_range(high + 1, ~0U);
}

// Becomes the agent; reports the errno of a failure on `exec_error`, which exec
// closes.
[[noreturn]] void BecomeAgent(const KeptAgent& agent, pid_t keeper,
                              int exec_error) {
  ::setpgid(0, 0);
  // If the keeper is killed, at least the agent itself dies with it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) {
    ::_exit(0);  // the keeper died before prctl
  }
  ::dup2(agent.input, STDIN_FILENO);
  ::dup2(agent.output, STDOUT_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(agent.argv[0], agent.argv);
  const int error = errno;
  (void)!::write(exec_error, &error, sizeof error);
  ::_exit(0);
}

// The keeper's own process, single-threaded.
class Keeper {
 public:
  Keeper(const KeptAgent& agent, int signals)
      : socket_(agent.socket), signals_(signals) {}

  // Reports a failure and exits.
  void Start(const KeptAgent& agent);
  [[noreturn]] void Serve();

 private:
  void Reap();
  // Returns false if no descendant is left that may be killed.
  bool KillChildren() const;
  void KillTree();

  const int socket_;
  const int signals_;  // a signalfd for SIGCHLD
  pid_t agent_ = 0;    // 0: not started, or reaped
};

void Keeper::Start(const KeptAgent& agent) {
  int exec_error[2];
  const pid_t keeper = ::getpid();
  if (::pipe2(exec_error, O_CLOEXEC) != 0 || (agent_ = ::fork()) < 0) {
    SendReport(socket_, KeeperReport::Kind::kNotStarted, errno);
    ::_exit(0);
  }
  if (agent_ == 0) {
    BecomeAgent(agent, keeper, exec_error[1]);
  }
  ::setpgid(agent_, agent_);
  ::close(exec_error[1]);
  int error = 0;
  const ssize_t size = ::read(exec_error[0], &error, sizeof error);
  ::close(exec_error[0]);
  if (size == sizeof error) {
    ::waitpid(agent_, nullptr, 0);
    SendReport(socket_, KeeperReport::Kind::kNotStarted, error);
    ::_exit(0);
  }
  SendReport(socket_, KeeperReport::Kind::kStarted, 0);
}

void Keeper::Reap() {
  signalfd_siginfo info;
  (void)!::read(signals_, &info, sizeof info);
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == agent_) {
      agent_ = 0;
      SendReport(socket_, KeeperReport::Kind::kEnded, status);
    }
  }
}

bool Keeper::KillChildren() const {
  if (!CanListChildren()) {
    return agent_ != 0 && ::kill(-agent_, SIGKILL) == 0;
  }
  return bridge::KillChildren();
}

void Keeper::KillTree() {
  // The children of a killed child become ours, and die in the next round.
  const time_t end = MonotonicSeconds() + kKillSeconds;
  while (KillChildren() && MonotonicSeconds() <= end) {
    pollfd signals = {signals_, POLLIN, 0};
    ::poll(&signals, 1, kKillWaitMilliseconds);
    Reap();
  }
}

void Keeper::Serve() {
  for (;;) {
    pollfd polls[] = {{socket_, POLLIN, 0}, {signals_, POLLIN, 0}};
    ::poll(polls, 2, -1);
    if (polls[1].revents != 0) {
      Reap();
    }
    if (polls[0].revents == 0) {
      continue;
    }
    KeeperRequest request = KeeperRequest::kKill;
    const bool closed = ::recv(socket_, &request, sizeof request, 0) <= 0;
    if (closed || request == KeeperRequest::kKill) {
      KillTree();
    } else if (agent_ != 0) {
      ::kill(-agent_, SIGTERM);
    }
    if (closed) {
      ::_exit(0);
    }
  }
}

}  // namespace

void KeepAgent(const KeptAgent& agent) {
  // Leaves corral-acp's process group: a client that kills the group must not
  // kill the keeper, too.
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "corral-keeper");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  const int signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) {
    SendReport(agent.socket, KeeperReport::Kind::kNotStarted, errno);
    ::_exit(0);
  }
  Keeper keeper(agent, signals);
  keeper.Start(agent);
  // Peers of corral-acp and of the agent wait for the end of these streams.
  CloseAllBut(agent.socket, signals);
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
  keeper.Serve();
}

}  // namespace bridge

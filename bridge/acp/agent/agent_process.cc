#include "bridge/acp/agent/agent_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/agent/agent_keeper.h"
#include "bridge/acp/agent/children.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;

constexpr int kSignalStatusBase = 128;  // a shell's convention

struct Ends {
  UniqueFd reader;
  UniqueFd writer;
};

absl::StatusOr<Ends> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe2");
  }
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

absl::StatusOr<Ends> MakeSocketPair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Waits for the next report. Returns no value if the keeper is gone.
std::optional<KeeperReport> Receive(int keeper) {
  KeeperReport report = {};
  ssize_t size = -1;
  do {
    size = ::recv(keeper, &report, sizeof report, 0);
  } while (size < 0 && errno == EINTR);
  if (size != sizeof report) {
    return std::nullopt;
  }
  return report;
}

void Send(int keeper, KeeperRequest request) {
  (void)!::send(keeper, &request, sizeof request, MSG_NOSIGNAL);
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Kills the agent's processes if the keeper was killed: its children are ours
// then. Gives up a process in an uninterruptible system call after 5 s.
void KillOrphans() {
  constexpr int kRounds = 500;
  constexpr int kPauseMilliseconds = 10;
  for (int round = 0; round < kRounds && KillChildren(); ++round) {
    ::poll(nullptr, 0, kPauseMilliseconds);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

}  // namespace

absl::StatusOr<AgentProcess> AgentProcess::Start(
    const std::vector<std::string>& argv) {
  // Adopts the agent's processes if the keeper is killed; see KillOrphans().
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ASSIGN_OR_RETURN(Ends input, MakePipe());
  ASSIGN_OR_RETURN(Ends output, MakePipe());
  ASSIGN_OR_RETURN(Ends socket, MakeSocketPair());
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  AgentProcess agent;
  agent.keeper_pid_ = ::fork();
  if (agent.keeper_pid_ < 0) {
    return absl::ErrnoToStatus(errno, "fork");
  }
  if (agent.keeper_pid_ == 0) {
    KeepAgent({socket.writer.get(), input.reader.get(), output.writer.get(),
               arguments.data()});
  }
  socket.writer.Reset();
  const std::optional<KeeperReport> report = Receive(socket.reader.get());
  if (!report.has_value() || report->kind != KeeperReport::Kind::kStarted) {
    WaitFor(agent.keeper_pid_);
    return report.has_value() ? absl::ErrnoToStatus(report->value, argv[0])
                              : absl::InternalError(absl::StrCat(
                                    argv[0], ": its keeper was killed"));
  }
  agent.keeper_ = std::move(socket.reader);
  agent.input_ = std::move(input.writer);
  agent.output_ = std::move(output.reader);
  return agent;
}

void AgentProcess::Terminate() {
  Send(keeper_.get(), KeeperRequest::kTerminate);
}

void AgentProcess::Kill() { Send(keeper_.get(), KeeperRequest::kKill); }

int AgentProcess::Finish() {
  Kill();
  const std::optional<KeeperReport> ended = Receive(keeper_.get());
  // The keeper kills once more, and exits, when the socket is closed.
  keeper_.Reset();
  WaitFor(keeper_pid_);
  KillOrphans();
  if (!ended.has_value()) {
    return kSignalStatusBase + SIGKILL;  // the agent died with its keeper
  }
  return WIFSIGNALED(ended->value) ? kSignalStatusBase + WTERMSIG(ended->value)
                                   : WEXITSTATUS(ended->value);
}

}  // namespace bridge

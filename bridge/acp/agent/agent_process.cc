#include "bridge/acp/agent/agent_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;

constexpr int kSignalStatusBase = 128;  // a shell's convention

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe2");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A group of its own, and no signal blocked. Handlers are reset by exec.
void Configure(posix_spawnattr_t& attributes) {
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& argv, int input,
                            int output) {
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  Configure(attributes);
  const auto destroy = absl::MakeCleanup([&] {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  });
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, &attributes,
                                   arguments.data(), environ);
  if (error != 0) {
    return absl::ErrnoToStatus(error, argv[0]);
  }
  return pid;
}

}  // namespace

absl::StatusOr<AgentProcess> AgentProcess::Start(
    const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(Pipe input, MakePipe());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  AgentProcess agent;
  ASSIGN_OR_RETURN(agent.pid_,
                   Spawn(argv, input.reader.get(), output.writer.get()));
  // glibc 2.36 declares pidfd_open() for C only.
  agent.pidfd_.Reset(
      static_cast<int>(::syscall(SYS_pidfd_open, agent.pid_, 0)));
  if (!agent.pidfd_.valid()) {
    const int error = errno;
    agent.SignalGroup(SIGKILL);
    agent.Reap();
    return absl::ErrnoToStatus(error, "pidfd_open");
  }
  agent.input_ = std::move(input.writer);
  agent.output_ = std::move(output.reader);
  return agent;
}

void AgentProcess::SignalGroup(int signal) const { ::kill(-pid_, signal); }

int AgentProcess::Reap() const {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? kSignalStatusBase + WTERMSIG(status)
                             : WEXITSTATUS(status);
}

}  // namespace bridge

#include "tests/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/log.h"

namespace tests {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Pipe::Pipe() {
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  reader.Reset(ends[0]);
  writer.Reset(ends[1]);
}

pid_t Spawn(ChildOptions options) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, options.input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, options.output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, options.error, STDERR_FILENO);
  ::posix_spawnattr_setflags(&attributes,
                             options.new_session ? POSIX_SPAWN_SETSID : 0);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    options.environment.emplace_back(*variable);
  }
  const std::vector<char*> argv = Pointers(options.arguments);
  const std::vector<char*> envp = Pointers(options.environment);
  pid_t pid = -1;
  CHECK(::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(),
                       envp.data()) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return pid;
}

void WriteAll(int fd, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t size = ::write(fd, data.data(), data.size());
    CHECK(size > 0);
    data.remove_prefix(size);
  }
}

int AwaitExit(pid_t pid) {
  int status = 0;
  CHECK(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void KillAndReap(pid_t pid) {
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace tests

#include "tests/benchmarks/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"

namespace tests {
namespace {

struct Pipe {
  sandbox::UniqueFd read;
  sandbox::UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe2");
  }
  return Pipe{sandbox::UniqueFd(ends[0]), sandbox::UniqueFd(ends[1])};
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::array<char*, 1> environment = {nullptr};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, arguments[0], &actions, nullptr,
                                arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::ErrnoToStatus(error,
                               absl::StrCat("posix_spawn(", argv[0], ")"));
  }
  return pid;
}

}  // namespace

absl::StatusOr<SpawnedCommand> SpawnedCommand::Start(
    const std::vector<std::string>& argv) {
  SpawnedCommand command;
  ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  ASSIGN_OR_RETURN(command.pid_, Spawn(argv, pipe.write.get()));
  command.output_ = std::move(pipe.read);
  return command;
}

absl::Status SpawnedCommand::Wait() {
  std::array<char, 4096> buffer;
  std::string begin;
  ssize_t size = 0;
  while ((size = read(output_.get(), buffer.data(), buffer.size())) > 0) {
    if (begin.empty()) {
      begin.assign(buffer.data(), size);
    }
  }
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) {
    return absl::ErrnoToStatus(errno, "waitpid");
  }
  if (status != 0) {
    return absl::InternalError(absl::StrCat("wait status ", status, ": ",
                                            begin.substr(0, begin.find('\n'))));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> TimeSpawn(const std::vector<std::string>& argv) {
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(SpawnedCommand command, SpawnedCommand::Start(argv));
  RETURN_IF_ERROR(command.Wait());
  return absl::Now() - begin;
}

}  // namespace tests

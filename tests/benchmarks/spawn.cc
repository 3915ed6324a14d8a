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

absl::StatusOr<absl::Duration> TimeSpawn(const std::vector<std::string>& argv) {
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(argv, pipe.write.get()));
  pipe.write.Reset();
  std::array<char, 4096> buffer;
  while (read(pipe.read.get(), buffer.data(), buffer.size()) > 0) {
  }
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) {
    return absl::ErrnoToStatus(errno, "waitpid");
  }
  const absl::Duration elapsed = absl::Now() - begin;
  if (status != 0) {
    return absl::InternalError(
        absl::StrCat(argv[0], " ended with wait status ", status));
  }
  return elapsed;
}

}  // namespace tests

#include "bridge/cli/corral_process.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;

struct Pipe {
  Pipe() {
    int ends[2];
    CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    reader.Reset(ends[0]);
    writer.Reset(ends[1]);
  }
  UniqueFd reader;
  UniqueFd writer;
};

pid_t Spawn(std::vector<std::string> words, int input, int output, int error) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  pid_t pid = -1;
  CHECK(::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(),
                      environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return pid;
}

std::string ReadAll(int fd) {
  std::string data;
  char buffer[65536];
  for (ssize_t size; (size = ::read(fd, buffer, sizeof buffer)) > 0;) {
    data.append(buffer, size);
  }
  return data;
}

}  // namespace

CorralProcess::CorralProcess(const std::string& server,
                             std::vector<std::string> arguments, Io io) {
  arguments.insert(arguments.begin(), {"./corral", "--server", server});
  if (io == Io::kTerminal) {
    int master = -1;
    int slave = -1;
    winsize size = {30, 100, 0, 0};
    CHECK(::openpty(&master, &slave, nullptr, nullptr, &size) == 0);
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    ::fcntl(slave, F_SETFD, FD_CLOEXEC);
    input_.Reset(master);
    output_.Reset(::fcntl(master, F_DUPFD_CLOEXEC, 0));
    terminal_.Reset(slave);
    pid_ = Spawn(std::move(arguments), slave, slave, slave);
    return;
  }
  Pipe input;
  Pipe output;
  Pipe error;
  pid_ = Spawn(std::move(arguments), input.reader.get(), output.writer.get(),
               error.writer.get());
  input_ = std::move(input.writer);
  output_ = std::move(output.reader);
  error_ = std::move(error.reader);
}

CorralProcess::~CorralProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void CorralProcess::Write(absl::string_view data) {
  while (!data.empty()) {
    const ssize_t size = ::write(input_.get(), data.data(), data.size());
    CHECK(size > 0);
    data.remove_prefix(size);
  }
}

std::string CorralProcess::ReadUntil(absl::string_view text) {
  std::string data;
  char byte;
  while (!absl::EndsWith(data, text) && ::read(output_.get(), &byte, 1) == 1) {
    data += byte;
  }
  return data;
}

std::string CorralProcess::ReadOutput() { return ReadAll(output_.get()); }
std::string CorralProcess::ReadError() { return ReadAll(error_.get()); }

void CorralProcess::Signal(int number) { CHECK(::kill(pid_, number) == 0); }

int CorralProcess::Wait() {
  int status = 0;
  CHECK(::waitpid(pid_, &status, 0) == pid_);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

size_t CorralProcess::PeakMemory() {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    absl::string_view text = line;
    size_t kibibytes = 0;
    if (absl::ConsumePrefix(&text, "VmHWM:") &&
        absl::ConsumeSuffix(&text, " kB") &&
        absl::SimpleAtoi(text, &kibibytes)) {
      return kibibytes * 1024;
    }
  }
  return 0;
}

}  // namespace bridge

#include "tests/integration/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/base/log.h"

namespace tests {
namespace {

using ::sandbox::UniqueFd;

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

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

pid_t Spawn(std::vector<std::string> arguments,
            std::vector<std::string> environment, int input, int output,
            int error) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  pid_t pid = -1;
  CHECK(::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(),
                       envp.data()) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

}  // namespace

Process::Process(std::vector<std::string> arguments,
                 std::vector<std::string> environment,
                 const std::string& error_file) {
  Pipe input;
  Pipe output;
  error_.Reset(error_file.empty()
                   ? ::memfd_create("error", MFD_CLOEXEC)
                   : ::open(error_file.c_str(),
                            O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  pid_ = Spawn(std::move(arguments), std::move(environment), input.reader.get(),
               output.writer.get(), error_.get());
  input_ = std::move(input.writer);
  output_ = std::move(output.reader);
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

bool Process::IsRunning() const {
  siginfo_t info = {};
  return pid_ > 0 &&
         ::waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

void Process::Write(absl::string_view data) {
  while (!data.empty()) {
    const ssize_t size = ::write(input_.get(), data.data(), data.size());
    CHECK(size > 0);
    data.remove_prefix(size);
  }
}

bool Process::Fill() {
  char bytes[65536];
  const ssize_t size = ::read(output_.get(), bytes, sizeof bytes);
  buffer_.append(bytes, size > 0 ? size : 0);
  return size > 0;
}

std::string Process::ReadLine() {
  size_t newline = buffer_.find('\n');
  while (newline == std::string::npos && Fill()) {
    newline = buffer_.find('\n');
  }
  const size_t size =
      newline == std::string::npos ? buffer_.size() : newline + 1;
  std::string line = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return line;
}

std::string Process::ReadOutput() {
  while (Fill()) {
  }
  return std::exchange(buffer_, "");
}

std::string Process::ReadError() {
  std::string text(::lseek(error_.get(), 0, SEEK_END), 0);
  const ssize_t size = ::pread(error_.get(), text.data(), text.size(), 0);
  text.resize(size > 0 ? size : 0);
  return text;
}

void Process::Signal(int number) const { ::kill(pid_, number); }

int Process::Wait() {
  int status = 0;
  CHECK(::waitpid(pid_, &status, 0) == pid_);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::string RunProgram(const std::vector<std::string>& arguments) {
  Process process(arguments);
  process.CloseInput();
  std::string output = process.ReadOutput();
  EXPECT_EQ(process.Wait(), 0) << arguments[0] << ": " << process.ReadError();
  return output;
}

}  // namespace tests

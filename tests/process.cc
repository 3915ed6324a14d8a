#include "tests/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/child_process.h"

namespace tests {
Process::Process(std::vector<std::string> arguments,
                 std::vector<std::string> environment,
                 const std::string& error_file) {
  Pipe input;
  Pipe output;
  error_.Reset(error_file.empty()
                   ? ::memfd_create("error", MFD_CLOEXEC)
                   : ::open(error_file.c_str(),
                            O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  pid_ = Spawn({std::move(arguments), std::move(environment),
                input.reader.get(), output.writer.get(), error_.get()});
  input_ = std::move(input.writer);
  output_ = std::move(output.reader);
}

Process::~Process() { KillAndReap(pid_); }

bool Process::IsRunning() const {
  siginfo_t info = {};
  return pid_ > 0 &&
         ::waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

void Process::Write(absl::string_view data) { WriteAll(input_.get(), data); }

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

int Process::Wait() { return AwaitExit(std::exchange(pid_, -1)); }

std::string RunProgram(const std::vector<std::string>& arguments) {
  Process process(arguments);
  process.CloseInput();
  std::string output = process.ReadOutput();
  EXPECT_EQ(process.Wait(), 0) << arguments[0] << ": " << process.ReadError();
  return output;
}

}  // namespace tests

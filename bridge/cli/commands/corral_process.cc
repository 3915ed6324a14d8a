#include "bridge/cli/commands/corral_process.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "sandbox/base/log.h"
#include "tests/child_process.h"

namespace bridge {
namespace {

std::string ReadAll(int fd) {
  std::string data;
  char buffer[65536];
  for (ssize_t size; (size = ::read(fd, buffer, sizeof buffer)) > 0;) {
    data.append(buffer, size);
  }
  return data;
}

std::string DefaultProgram() {
  constexpr char kNear[] = "./bridge/cli/corral_under_test";
  return ::access(kNear, X_OK) == 0 ? kNear : "./corral";
}

}  // namespace

CorralProcess::CorralProcess(const std::string& server,
                             std::vector<std::string> arguments, Io io,
                             const std::string& program) {
  arguments.insert(
      arguments.begin(),
      {program.empty() ? DefaultProgram() : program, "--server", server});
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
    pid_ = tests::Spawn({std::move(arguments), {}, slave, slave, slave, true});
    return;
  }
  tests::Pipe input;
  tests::Pipe output;
  tests::Pipe error;
  pid_ = tests::Spawn({std::move(arguments),
                       {},
                       input.reader.get(),
                       output.writer.get(),
                       error.writer.get(),
                       true});
  input_ = std::move(input.writer);
  output_ = std::move(output.reader);
  error_ = std::move(error.reader);
}

CorralProcess::~CorralProcess() { tests::KillAndReap(pid_); }

void CorralProcess::Write(absl::string_view data) {
  tests::WriteAll(input_.get(), data);
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

int CorralProcess::Wait() { return tests::AwaitExit(std::exchange(pid_, -1)); }

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

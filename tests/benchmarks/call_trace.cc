#include "tests/benchmarks/call_trace.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tests {
namespace {

bool IsTraced(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("TracerPid:", 0) == 0) {
      return line != "TracerPid:\t0";
    }
  }
  return true;  // it has ended
}

// "PID  SECONDS.MICROSECONDS NAME(ARGUMENTS...": the begin of a call. Other
// lines report signals, ends, and the rest of a call that was interrupted.
bool ParseCall(const std::string& line, SystemCall& call) {
  std::istringstream words(line);
  pid_t thread = 0;
  std::string time;
  std::string rest;
  words >> thread >> time >> rest;
  const size_t name_end = rest.find('(');
  double seconds = 0;
  if (name_end == 0 || name_end == rest.npos || rest[0] < 'a' ||
      rest[0] > 'z' || !absl::SimpleAtod(time, &seconds)) {
    return false;
  }
  call = {thread, absl::UnixEpoch() + absl::Seconds(seconds),
          rest.substr(0, name_end)};
  return true;
}

}  // namespace

absl::StatusOr<CallTrace> CallTrace::Attach(pid_t pid,
                                            const std::string& file) {
  const std::string target = absl::StrCat(pid);
  std::vector<const char*> argv = {"strace", "-f",           "-qq",
                                   "-ttt",   "-o",           file.c_str(),
                                   "-p",     target.c_str(), nullptr};
  pid_t strace = 0;
  const int error =
      posix_spawnp(&strace, argv[0], nullptr, nullptr,
                   const_cast<char* const*>(argv.data()), environ);
  if (error != 0) {
    return absl::ErrnoToStatus(error, "strace");
  }
  CallTrace trace(strace, file);
  for (int i = 0; i < 2000 && !IsTraced(pid); ++i) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  if (!IsTraced(pid)) {
    return absl::UnavailableError(
        absl::StrCat("strace did not attach to process ", pid));
  }
  return trace;
}

CallTrace::CallTrace(pid_t strace, std::string file)
    : strace_(strace), file_(std::move(file)) {}

CallTrace::CallTrace(CallTrace&& other) noexcept
    : strace_(std::exchange(other.strace_, 0)), file_(std::move(other.file_)) {}

CallTrace::~CallTrace() { Detach(); }

void CallTrace::Detach() {
  if (strace_ != 0) {
    kill(strace_, SIGINT);
    waitpid(strace_, nullptr, 0);
    strace_ = 0;
  }
}

absl::StatusOr<std::vector<SystemCall>> CallTrace::Stop() {
  Detach();
  std::ifstream trace(file_);
  std::vector<SystemCall> calls;
  SystemCall call;
  for (std::string line; std::getline(trace, line);) {
    if (ParseCall(line, call)) {
      calls.push_back(call);
    }
  }
  if (calls.empty()) {
    return absl::InternalError("strace saw no system call");
  }
  return calls;
}

}  // namespace tests

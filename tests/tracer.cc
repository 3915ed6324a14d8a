#include "tests/tracer.h"

#include <signal.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace tests {
namespace {

std::vector<std::string> Options(const Fault& fault,
                                 const std::string& record) {
  return {"strace",
          "-f",
          "-q",
          "-o",
          record,
          "-e",
          "trace=" + fault.calls,
          "-e",
          "inject=" + fault.ToString()};
}

bool IsTraced(const std::string& task) {
  return !absl::StrContains(ReadFile(task + "/status"), "TracerPid:\t0\n");
}

bool IsTraced(pid_t pid) {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/task"), error)) {
    if (!IsTraced(task.path().string())) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string Fault::ToString() const {
  return absl::StrCat(calls, ":", effect, ":when=", when, lasting ? "+" : "");
}

bool Tracer::IsPermitted() {
  // A shell, since not every machine has strace.
  Process strace({"sh", "-c", "exec strace -o /dev/null true"});
  strace.CloseInput();
  return strace.Wait() == 0;
}

std::vector<std::string> Tracer::Prefix(const Fault& fault,
                                        const std::string& record) {
  std::vector<std::string> words = Options(fault, record);
  words.insert(words.begin() + 1, "-D");
  return words;
}

Tracer::Tracer(pid_t pid, const Fault& fault, const std::string& record) {
  std::vector<std::string> words = Options(fault, record);
  words.insert(words.end(), {"-p", absl::StrCat(pid)});
  strace_ = std::make_unique<Process>(words);
  strace_->CloseInput();
  while (strace_->IsRunning() && !IsTraced(pid)) {
    absl::SleepFor(absl::Milliseconds(2));
  }
  // A process that strace kills may be gone before strace has attached to all
  // its threads.
  EXPECT_TRUE(strace_->IsRunning() || HasStruck(record) || HasKilled(record))
      << strace_->ReadError();
}

void Tracer::Detach() {
  if (strace_ != nullptr) {
    // The kernel detaches. strace itself would wait forever for a thread that
    // waits for a child that it has just created with vfork().
    strace_->Signal(SIGKILL);
    strace_->Wait();
    strace_.reset();
  }
}

bool Tracer::HasStruck(const std::string& record) {
  const std::string text = ReadFile(record);
  return absl::StrContains(text, "(INJECTED)") ||
         absl::StrContains(text, "(DELAYED)");
}

bool Tracer::HasKilled(const std::string& record) {
  return absl::StrContains(ReadFile(record), "killed by SIGKILL");
}

}  // namespace tests

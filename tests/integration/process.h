// A program as a child process of a test.

#ifndef TESTS_INTEGRATION_PROCESS_H_
#define TESTS_INTEGRATION_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

// Input and output are pipes. Errors go to a file, so that nobody has to read
// them. Not thread-safe.
class Process {
 public:
  // `error_file`: appended to; empty: kept for ReadError(). `environment`:
  // "NAME=VALUE", on top of the test's own.
  explicit Process(std::vector<std::string> arguments,
                   std::vector<std::string> environment = {},
                   const std::string& error_file = "");
  ~Process();  // kills it

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // It was not waited for, and has not ended.
  bool IsRunning() const;

  void Write(absl::string_view data);
  void CloseInput() { input_.Reset(); }

  // Up to and with the next newline; what is left at the end of the output.
  std::string ReadLine();
  std::string ReadOutput();  // to its end
  std::string ReadError();   // what was written so far

  void Signal(int number) const;
  // The exit status as a shell has it, 1000+n for a signal.
  int Wait();

 private:
  bool Fill();

  pid_t pid_ = -1;
  sandbox::UniqueFd input_;
  sandbox::UniqueFd output_;
  sandbox::UniqueFd error_;
  std::string buffer_;
};

// Runs a program to its end, which must be a good one.
std::string RunProgram(const std::vector<std::string>& arguments);

}  // namespace tests

#endif  // TESTS_INTEGRATION_PROCESS_H_

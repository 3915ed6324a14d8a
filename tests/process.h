// A program as a child process of a test.

#ifndef TESTS_PROCESS_H_
#define TESTS_PROCESS_H_

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
  // `error_file`: standard error is appended to this file; if empty, it is kept
  // for ReadError(). `environment`: "NAME=VALUE" entries, added to the
  // environment of the test.
  explicit Process(std::vector<std::string> arguments,
                   std::vector<std::string> environment = {},
                   const std::string& error_file = "");
  ~Process();  // kills the program

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // Returns true if the program has not ended and was not waited for.
  bool IsRunning() const;

  void Write(absl::string_view data);
  void CloseInput() { input_.Reset(); }

  // Returns the next line with its newline, or the rest at the end of the
  // output.
  std::string ReadLine();
  std::string ReadOutput();  // until the end of the output
  std::string ReadError();   // what was written so far

  void Signal(int number) const;
  // Returns the exit status as a shell shows it, or 1000+n for a signal.
  int Wait();

 private:
  bool Fill();

  pid_t pid_ = -1;
  sandbox::UniqueFd input_;
  sandbox::UniqueFd output_;
  sandbox::UniqueFd error_;
  std::string buffer_;
};

// Runs a program to its end and returns its output. Expects exit status 0.
std::string RunProgram(const std::vector<std::string>& arguments);

}  // namespace tests

#endif  // TESTS_PROCESS_H_

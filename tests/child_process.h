// Starts programs as child processes of a test; the base of the classes for
// particular programs.

#ifndef TESTS_CHILD_PROCESS_H_
#define TESTS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

struct Pipe {
  Pipe();

  sandbox::UniqueFd reader;
  sandbox::UniqueFd writer;
};

struct ChildOptions {
  // The program, searched in PATH if it has no slash, and its arguments.
  std::vector<std::string> arguments;
  // "NAME=VALUE" entries, added to the environment of the test.
  std::vector<std::string> environment = {};
  // Descriptors that become 0, 1 and 2.
  int input;
  int output;
  int error;
  bool new_session = false;
};

pid_t Spawn(ChildOptions options);

// Writes all of `data` to a descriptor that blocks.
void WriteAll(int fd, absl::string_view data);

// Waits for the end. Returns the exit status as a shell shows it, or 1000+n for
// a signal.
int AwaitExit(pid_t pid);

// Kills with SIGKILL and reaps. Does nothing if `pid` <= 0.
void KillAndReap(pid_t pid);

}  // namespace tests

#endif  // TESTS_CHILD_PROCESS_H_

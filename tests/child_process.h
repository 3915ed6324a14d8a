// Programs as child processes of a test: what the classes for particular
// programs are made of.

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
  // The program, by PATH without a slash, and its arguments.
  std::vector<std::string> arguments;
  // "NAME=VALUE", on top of the test's own.
  std::vector<std::string> environment = {};
  // Descriptors, which become 0, 1 and 2.
  int input;
  int output;
  int error;
  bool new_session = false;
};

pid_t Spawn(ChildOptions options);

// All of it, to a descriptor that blocks.
void WriteAll(int fd, absl::string_view data);

// Waits for the end. The exit status as a shell has it, 1000+n for a signal.
int AwaitExit(pid_t pid);

// With SIGKILL; `pid` <= 0: nothing.
void KillAndReap(pid_t pid);

}  // namespace tests

#endif  // TESTS_CHILD_PROCESS_H_

// The real program, running: init as PID 1 of new namespaces and a spawner in
// them. They see the host's files, and "cgroups" are files of the test.
//
// Used by one thread only. Needs root.

#ifndef SANDBOX_INIT_PROGRAM_FIXTURE_H_
#define SANDBOX_INIT_PROGRAM_FIXTURE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/namespaces.h"

namespace sandbox {

// A command that a test asks the spawner to start.
struct TestCommand {
  std::vector<std::string> argv;
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin"};
  std::string working_directory = "/";
  bool search = false;
};

class StartedProgram {
 public:
  struct Started {
    SpawnAnswer answer = {};
    // Invalid: there is no process.
    UniqueFd pidfd;
  };

  // Returns when init executes and the spawner has reported that it is ready.
  StartedProgram();
  // Kills all processes and reaps them.
  ~StartedProgram();

  const Child& init() const { return init_; }
  const Child& spawner() const { return spawner_; }

  // Writes a request for `command`, which the test may then change.
  SpawnRequest& Write(const TestCommand& command);
  // Hands over what Write() wrote and returns the answer.
  Started Start(const std::vector<int>& fds);
  // Makes a request whose answer the kernel refuses to send.
  void StartWithoutAnswer();
  // The three streams and a file that plays the `tasks` file of a cgroup.
  std::vector<int> Fds() const;
  // Everything that commands wrote to their standard output and error.
  std::string Output() const;
  // Everything that they wrote to the `tasks` file.
  std::string Tasks() const;
  // The spawner's end of the socket is the only one that is left.
  void CloseSocket() { socket_.Reset(); }

 private:
  void StartInit(int image);
  void StartSpawner(int image);

  Child init_;
  Child spawner_;
  UniqueFd socket_;
  UniqueFd exchange_fd_;
  char* exchange_ = nullptr;
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd tasks_;
};

// Reaps the child behind `pidfd` when it has ended. Returns its status as
// waitpid(2) does.
int WaitFor(const UniqueFd& pidfd);

}  // namespace sandbox

#endif  // SANDBOX_INIT_PROGRAM_FIXTURE_H_

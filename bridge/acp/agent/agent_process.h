#ifndef BRIDGE_ACP_AGENT_AGENT_PROCESS_H_
#define BRIDGE_ACP_AGENT_AGENT_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// The agent: a child process that leads a process group of its own, with pipes
// as standard input and output, and our standard error.
class AgentProcess {
 public:
  // Searches argv[0] in PATH. The error is that of posix_spawn: NotFound if
  // there is no such program.
  static absl::StatusOr<AgentProcess> Start(
      const std::vector<std::string>& argv);

  AgentProcess(AgentProcess&& other) noexcept = default;
  AgentProcess& operator=(AgentProcess&& other) noexcept = default;
  // The agent must have been reaped; it is not killed here.
  ~AgentProcess() = default;

  // -1 once it is closed.
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  void CloseInput() { input_.Reset(); }
  void CloseOutput() { output_.Reset(); }

  // Readable when the agent has ended.
  int pidfd() const { return pidfd_.get(); }

  // To its whole process group. Until Reap() nobody else can have its id.
  void SignalGroup(int signal) const;

  // Waits for its end. Its exit code, or 128 and the number of the signal that
  // ended it.
  int Reap() const;

 private:
  AgentProcess() = default;

  pid_t pid_ = 0;
  sandbox::UniqueFd pidfd_;
  sandbox::UniqueFd input_;
  sandbox::UniqueFd output_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_AGENT_PROCESS_H_

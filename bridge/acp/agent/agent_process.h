#ifndef BRIDGE_ACP_AGENT_AGENT_PROCESS_H_
#define BRIDGE_ACP_AGENT_AGENT_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// The agent, with pipes as standard input and output, and our standard error.
// It runs below a keeper (agent_keeper.h), so that no process of the agent
// outlives this one. Makes this process a child subreaper, so that it can kill
// the agent's processes even after somebody has killed the keeper. Used by one
// thread only.
class AgentProcess {
 public:
  // Searches argv[0] in PATH. The error is that of exec: NotFound if there is
  // no such program.
  static absl::StatusOr<AgentProcess> Start(
      const std::vector<std::string>& argv);

  AgentProcess(AgentProcess&& other) noexcept = default;
  AgentProcess& operator=(AgentProcess&& other) = delete;
  // Call Finish() first.
  ~AgentProcess() = default;

  // -1 once closed.
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  void CloseInput() { input_.Reset(); }
  void CloseOutput() { output_.Reset(); }

  // Readable when the agent has ended; its descendants may still be running.
  int ended() const { return keeper_.get(); }

  // Sends SIGTERM to the agent's process group, if the agent has not ended.
  void Terminate();
  // Sends SIGKILL to the agent and every descendant.
  void Kill();

  // Kills what is left, waits until it is gone, and returns the agent's exit
  // code, or 128 plus the number of the signal that ended it. Call once.
  int Finish();

 private:
  AgentProcess() = default;

  pid_t keeper_pid_ = 0;
  sandbox::UniqueFd keeper_;  // our end of the socket
  sandbox::UniqueFd input_;
  sandbox::UniqueFd output_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_AGENT_PROCESS_H_

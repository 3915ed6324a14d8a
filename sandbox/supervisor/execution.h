// One command of the sandbox, from its request to its end and beyond:
// descendants may outlive it.
//
//   STARTING -> RUNNING -> EXITED
//           \-> FAILED_TO_START
//
// EXITED is told after the command was reaped and its output closed, or given
// up after kDrain.
//
// For the event loop's thread. Not movable: the loop refers to it.

#ifndef SANDBOX_SUPERVISOR_EXECUTION_H_
#define SANDBOX_SUPERVISOR_EXECUTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/event_loop.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/input_channel.h"
#include "sandbox/supervisor/output_channel.h"
#include "sandbox/supervisor/spawner.h"

namespace sandbox {

// What an execution needs of its sandbox. Outlives it.
struct ExecutionHost {
  EventLoop* loop = nullptr;
  Spawner* spawner = nullptr;
  Cgroup* cgroup = nullptr;
  // Made ahead; taken by the next execution.
  Cgroup spare_cgroup;
  ExecutionFiles spare_files;
  // Numbers the groups of executions and what is made ahead.
  uint64_t next_number = 0;
  // The spawner's user id.
  uint32_t first_id = 0;
  int devpts = -1;
  // Path of the directory that holds a directory for each execution.
  std::string directory;
  std::function<void(const wire::ExecutionRecord&)> on_state;
  std::function<void(const std::string& id)> on_output;

  // A group, and files for pipes, for one execution.
  absl::StatusOr<Cgroup> MakeCgroup();
  absl::StatusOr<ExecutionFiles> MakeFiles();
};

class Execution {
 public:
  Execution(ExecutionHost* host, wire::StartExecution start);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // OK when the command runs or failed to start; on_state told which. An error:
  // nothing was started, and nothing of it is left.
  void Start(absl::AnyInvocable<void(absl::Status)> done);

  const wire::ExecutionRecord& record() const { return record_; }
  bool ended() const;

  absl::Status Signal(const wire::Signal& signal);
  absl::Status Resize(uint32_t rows, uint32_t columns);
  void WriteInput(const wire::WriteInput& input, InputChannel::Done done);
  void Acknowledge(wire::Stream stream, uint64_t offset);

  // Notes the cause of an end that is about to be forced. The first one counts.
  void Condemn(wire::ExitRecord::Cause cause);
  // Kills the whole tree.
  void Kill();

  // Removes the cgroup if nothing lives in it. False: something does. Only when
  // it has ended.
  bool RemoveCgroup();
  // Removes everything on disk. Only when it has ended.
  void RemoveFiles();

 private:
  absl::Status Prepare();
  absl::Status OpenStreams();
  void OnSpawned(UniqueFd pidfd, SpawnAnswer answer,
                 absl::AnyInvocable<void(absl::Status)> done);
  void OnFailedToStart(const UniqueFd& pidfd, SpawnAnswer answer);
  void OnRunning(UniqueFd pidfd);
  void OnExit();
  void OnOutput();
  void OnDrainTimeout();
  void OnWallTimeout();
  void Drain();
  void Finish(bool output_open);
  void SetState(wire::ExecutionRecord::State state);
  void WriteEnd();
  wire::ExitRecord::Cause Cause() const;
  bool OutputClosed() const;
  OutputChannel* FindOutput(wire::Stream stream);
  void KillAfter(absl::Duration grace);

  ExecutionHost* const host_;
  // Emptied once it runs: start.pb has it.
  wire::CommandSpec command_;
  wire::ExecutionRecord record_;
  Cgroup cgroup_;
  // The command's own ends, until it has them.
  std::vector<UniqueFd> command_fds_;
  ExecutionFiles files_;
  std::vector<std::unique_ptr<OutputChannel>> outputs_;
  std::unique_ptr<InputChannel> input_;
  UniqueFd pidfd_;
  // Valid from the exit on.
  int wait_status_ = 0;
  bool reaped_ = false;
  bool timed_out_ = false;
  std::optional<wire::ExitRecord::Cause> condemned_;
  std::set<int> client_signals_;
  std::optional<EventLoop::TimerId> wall_timer_;
  std::optional<EventLoop::TimerId> kill_timer_;
  std::optional<EventLoop::TimerId> drain_timer_;
  std::optional<EventLoop::TimerId> reap_timer_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_EXECUTION_H_

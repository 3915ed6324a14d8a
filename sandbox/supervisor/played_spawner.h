// A Spawner whose other end a test plays. The commands that it starts are
// children of the test, which do nothing until the test makes them exit.
//
// Used by one thread only.

#ifndef SANDBOX_SUPERVISOR_PLAYED_SPAWNER_H_
#define SANDBOX_SUPERVISOR_PLAYED_SPAWNER_H_

#include <sys/types.h>

#include <memory>
#include <vector>

#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/spawner.h"

namespace sandbox {

class PlayedSpawner {
 public:
  explicit PlayedSpawner(EventLoop* loop);
  // Kills and reaps the child.
  ~PlayedSpawner();

  Spawner* spawner() { return spawner_.get(); }

  // Receives the next request and keeps it with its descriptors.
  void Receive();
  const SpawnRequest& request() const { return request_; }
  // Standard output and error of the command, until the test closes them.
  UniqueFd& output() { return fds_[1]; }
  UniqueFd& error() { return fds_[2]; }
  UniqueFd& input() { return fds_[0]; }

  // The times of the next answers.
  void SetTimes(const SpawnTimes& times) { times_ = times; }
  // Answers with a child that runs, or that could not execute.
  void Succeed();
  void Fail(SpawnStage stage, int error, bool with_process);
  // Answers that the start has failed, with a child that runs on.
  void FailFalsely();

  pid_t child() const { return child_; }
  // End the child, and return when it has ended. It is not reaped.
  void Exit(int code);
  void Signal(int signal);

 private:
  void Answer(SpawnStage stage, int error, int pidfd);
  void Fork();
  void AwaitEnd() const;

  UniqueFd theirs_;
  UniqueFd exchange_;
  SpawnRequest request_ = {};
  SpawnTimes times_ = {};
  std::unique_ptr<Spawner> spawner_;
  std::vector<UniqueFd> fds_;
  pid_t child_ = -1;
  UniqueFd pidfd_;
  // The child exits with the byte that it reads here.
  UniqueFd exit_code_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_PLAYED_SPAWNER_H_

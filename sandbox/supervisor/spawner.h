// The supervisor's connection to the spawner, which starts commands. One
// request is under way at a time, others wait in order.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_SPAWNER_H_
#define SANDBOX_SUPERVISOR_SPAWNER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/stopped_start.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// Returns the id of the command's user and group inside the sandbox.
inline uint32_t UserIdOf(const wire::CommandSpec& command) {
  return command.user_id() != 0 ? command.user_id() : kCommandId;
}

class Spawner {
 public:
  // The parts that a command starts with. Strings and the group's descriptors
  // must remain until `done` is called.
  struct Job {
    const wire::CommandSpec* command = nullptr;
    // Standard input, output and error, or only the last two: then the input is
    // /dev/null. They are closed when the spawner has answered; that leaves a
    // free descriptor for the pidfd.
    std::vector<UniqueFd> streams;
    // From Cgroup::EntryFds().
    std::vector<int> group_fds;
    SpawnGroup group = SpawnGroup::kTasks;
    // See SpawnRequest.
    uint64_t file_bytes = 0;
    bool traced = false;
    // Called when no other start is under way and this one begins, if it is
    // set. Returns 0, or the errno with which the start fails.
    std::function<int()> begin;
    // Called with the command's pidfd, which is invalid if there is no process,
    // and with the spawner's answer.
    absl::AnyInvocable<void(UniqueFd pidfd, SpawnAnswer answer)> done;
  };

  // `is_known` returns true for the children of this process that are known,
  // apart from the one that is being started. `lost` is called when the spawner
  // ends, or sends something that is no answer.
  static absl::StatusOr<std::unique_ptr<Spawner>> Create(
      EventLoop* loop, UniqueFd socket, const UniqueFd& exchange,
      StoppedStart::IsKnown is_known, absl::AnyInvocable<void()> lost);
  ~Spawner();

  void Spawn(Job job);
  // The number of jobs that were not answered.
  size_t pending() const { return jobs_.size(); }
  // Calls `then` when the request that is under way was answered and its `done`
  // has returned. Returns false and calls nothing if there is none.
  bool AfterAnswer(absl::AnyInvocable<void()> then);

 private:
  Spawner(EventLoop* loop, UniqueFd socket, UniqueFd null, char* exchange,
          StoppedStart::IsKnown is_known, absl::AnyInvocable<void()> lost);

  void SendNext();
  // Returns why the request was not sent; error 0: it was sent.
  SpawnAnswer Send(const Job& job);
  // Returns false if the request does not fit into the exchange.
  bool Write(const Job& job);
  void OnAnswer();
  // Calls stopped_.Free() again and again until the request is answered.
  void Watch();
  void OnEnd();

  EventLoop* const loop_;
  const UniqueFd socket_;
  // /dev/null, open for reading: all commands without input share it.
  const UniqueFd null_;
  char* const exchange_;
  absl::AnyInvocable<void()> lost_;
  StoppedStart stopped_;
  Timer overdue_;
  bool ended_ = false;
  Timer end_timer_;
  // Bytes of the exchange that the request under way takes.
  size_t used_ = 0;
  // The first one was sent to the spawner.
  std::deque<Job> jobs_;
  absl::AnyInvocable<void()> after_answer_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SPAWNER_H_

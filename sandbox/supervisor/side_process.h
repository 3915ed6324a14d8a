// A child that works beside its supervisor, with the rights that the supervisor
// gives up once its sandbox is complete. It runs a function of this program.

#ifndef SANDBOX_SUPERVISOR_SIDE_PROCESS_H_
#define SANDBOX_SUPERVISOR_SIDE_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// No wait(2) without __WALL finds the child: who waits for commands is not
// disturbed.
class SideProcess {
 public:
  // Runs in the child, with its end of a SOCK_SEQPACKET pair, and returns soon
  // after the other end was closed. Its result is the status of the process.
  using Main = std::function<int(UniqueFd socket)>;

  // Starts the child, which ps shows as `name`, at most 15 characters. Of the
  // caller's descriptors it has 0, 1, 2 and `kept`. For a process with one
  // thread. Errors: those of socketpair(2) and clone(2).
  static absl::StatusOr<SideProcess> Start(const char* name,
                                           const std::vector<int>& kept,
                                           const Main& main,
                                           absl::Duration patience = kPatience);

  SideProcess(SideProcess&&) = default;
  SideProcess& operator=(SideProcess&&) = delete;
  // Closes the socket and waits for the end of the child. Kills a child that
  // has not ended after `patience`.
  ~SideProcess();

  pid_t pid() const { return pid_; }
  // The supervisor's end.
  int socket() const { return socket_.get(); }

  // Reports to the child that nothing runs in the sandbox any more, or that it
  // was not completed: see AwaitSandboxEnd().
  void ReportSandboxEnd() const;
  // For the child: waits until its supervisor reports the end of the sandbox or
  // has ended itself. Returns true if nothing runs in the sandbox any more;
  // then it also waits up to 10 s for the process behind `init`, which ends
  // after its supervisor.
  static bool AwaitSandboxEnd(const UniqueFd& socket, const UniqueFd& init);

  static constexpr absl::Duration kPatience = absl::Seconds(10);

 private:
  SideProcess(UniqueFd socket, pid_t pid, UniqueFd pidfd,
              absl::Duration patience);

  UniqueFd socket_;
  pid_t pid_;
  UniqueFd pidfd_;
  absl::Duration patience_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SIDE_PROCESS_H_

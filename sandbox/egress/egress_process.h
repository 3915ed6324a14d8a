// A corral-egress as a child process.
//
// May be called from any thread.

#ifndef SANDBOX_EGRESS_EGRESS_PROCESS_H_
#define SANDBOX_EGRESS_EGRESS_PROCESS_H_

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace egress {

struct EgressProcess {
  pid_t pid = 0;
  // Readable when the process has ended. The owner reaps it.
  sandbox::UniqueFd pidfd;
  // The program waits for a Start message, and then sends a Report in each
  // packet. It ends when this socket is closed, or when the thread that is its
  // parent ends.
  sandbox::UniqueFd socket;

  // Kills the process and reaps it.
  void End();
};

// Whose child the process is. The parent reaps it.
enum class Parent {
  // The calling thread.
  kCaller,
  // The parent of the caller, as if that had started it.
  kParentOfCaller,
};

// Starts the program as user and group `id`, which may be those of this
// process, without privileges. SendMessage() on its socket then sends the
// Start; the program ends if that is wrong. A failure leaves no process.
absl::StatusOr<EgressProcess> StartEgress(uid_t id, Parent parent);

}  // namespace egress

#endif  // SANDBOX_EGRESS_EGRESS_PROCESS_H_

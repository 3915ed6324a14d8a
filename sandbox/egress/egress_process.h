// A corral-egress as a child process.

#ifndef SANDBOX_EGRESS_EGRESS_PROCESS_H_
#define SANDBOX_EGRESS_EGRESS_PROCESS_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/unique_fd.h"

namespace egress {

struct EgressProcess {
  pid_t pid = 0;
  // Readable when the process has ended. The owner reaps it.
  sandbox::UniqueFd pidfd;
  // The program sends a Report in each packet. It ends when this socket is
  // closed, or when the thread that started it ends.
  sandbox::UniqueFd socket;

  // Kills the process and reaps it.
  void End();
};

// Starts the program as user and group `id`, without privileges, and sends it
// the message. Returns before the program serves. The program ends if the
// message is wrong. A failure leaves no process.
absl::StatusOr<EgressProcess> StartEgress(
    uid_t id, const ::corral::egress::v1::Start& message,
    const std::vector<int>& descriptors);

}  // namespace egress

#endif  // SANDBOX_EGRESS_EGRESS_PROCESS_H_

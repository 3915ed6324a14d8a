// Sockets of another network namespace.

#ifndef SANDBOX_KERNEL_INSIDE_SOCKETS_H_
#define SANDBOX_KERNEL_INSIDE_SOCKETS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Moves the calling thread to the network namespace of the process behind
// `pidfd`. Sockets that exist stay where they are, and those of the file system
// are reached from everywhere.
absl::Status EnterNetwork(int pidfd);

// Makes TCP sockets in the network namespace of the calling thread:
// non-blocking, not connected, one of IPv4 and then, if the kernel has it, one
// of IPv6. They stay in that namespace, whoever connects them.
absl::StatusOr<std::vector<UniqueFd>> MakeTcpSockets();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_INSIDE_SOCKETS_H_

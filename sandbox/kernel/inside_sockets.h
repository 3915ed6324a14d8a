// Sockets of another network namespace.

#ifndef SANDBOX_KERNEL_INSIDE_SOCKETS_H_
#define SANDBOX_KERNEL_INSIDE_SOCKETS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Makes TCP sockets in the network namespace of the process behind `pidfd`:
// non-blocking, not connected, one of IPv4 and then, if the kernel has it, one
// of IPv6. They stay in that namespace, whoever connects them.
//
// The calling thread is in that namespace meanwhile. After a failure it may
// remain there, which means nothing to a thread that uses no network.
absl::StatusOr<std::vector<UniqueFd>> MakeTcpSocketsIn(int pidfd);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_INSIDE_SOCKETS_H_

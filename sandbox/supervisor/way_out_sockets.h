// Opens the sockets of a way out in the network namespace of a sandbox.

#ifndef SANDBOX_SUPERVISOR_WAY_OUT_SOCKETS_H_
#define SANDBOX_SUPERVISOR_WAY_OUT_SOCKETS_H_

#include <cstdint>
#include <set>

#include "absl/status/statusor.h"
#include "sandbox/egress/inner_sockets.h"
#include "sandbox/supervisor/construction.h"

namespace sandbox {

// Prepares the sandbox `made`, in which nothing untrusted runs yet, for a way
// out: its /etc, its routes and its sockets. Without the device for packets if
// this host has none; the log says why. For a process without threads.
absl::StatusOr<::egress::InnerSockets> OpenWayOutSockets(
    const Construction& made, const std::set<uint16_t>& ports);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_WAY_OUT_SOCKETS_H_

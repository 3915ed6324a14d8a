// A network device whose packets a program takes and gives.

#ifndef SANDBOX_KERNEL_TUN_DEVICE_H_
#define SANDBOX_KERNEL_TUN_DEVICE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Makes the device `name` in the present network namespace, and brings it up.
// Each read of the descriptor, which does not block, takes a packet of IPv4 or
// IPv6 that the namespace sends, and each write gives it one. The device ends
// with the last duplicate of the descriptor, and nothing else keeps it.
//
// Needs CAP_NET_ADMIN in the namespace. Fails with Unavailable if this host
// offers no such devices. Source: Documentation/networking/tuntap.rst of Linux.
absl::StatusOr<UniqueFd> MakeTunDevice(const std::string& name);

// Gives the device `name` an address, 4 or 16 bytes in network order, and makes
// it the default route of the address's family. Every other route of the
// present network namespace goes before.
absl::Status RouteTheRestTo(const std::string& name, absl::string_view address);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_TUN_DEVICE_H_

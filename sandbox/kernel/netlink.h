// Requests to rtnetlink(7), which configures network namespaces.

#ifndef SANDBOX_KERNEL_NETLINK_H_
#define SANDBOX_KERNEL_NETLINK_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sandbox {

// The bytes of a structure of the kernel, which must outlive the view.
template <typename Structure>
absl::string_view BytesOf(const Structure& structure) {
  return {reinterpret_cast<const char*>(&structure), sizeof(structure)};
}

// An attribute in the form of rtnetlink, with its padding. The attributes in a
// nested one are its value.
std::string NetlinkAttribute(uint16_t type, absl::string_view value);

// Has the present network namespace do what a message of `type` (RTM_*) asks
// for: its structure, and attributes. `flags` (NLM_F_*) are those besides
// REQUEST and ACK. Returns 0 or an errno.
int RequestNetlink(uint16_t type, uint16_t flags, absl::string_view message);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_NETLINK_H_

// Giving up what a process in a sandbox must not have.
//
// Everything here changes the calling process for good.

#ifndef SANDBOX_KERNEL_PRIVILEGES_H_
#define SANDBOX_KERNEL_PRIVILEGES_H_

#include <initializer_list>

#include "absl/status/status.h"

namespace sandbox {

// Becomes user and group 0 of the user namespace that the process is in,
// without supplementary groups.
absl::Status BecomeNamespaceRoot();

// Leaves only these capabilities (CAP_*) in the permitted, effective and
// bounding sets, and sets no_new_privs. A program executed as user 0 has them
// too.
absl::Status KeepOnly(std::initializer_list<int> capabilities);

// Resource limits that commands start with: no core dumps, and usual numbers
// whatever the host's are.
absl::Status SetResourceLimits();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PRIVILEGES_H_

// Drops the privileges that a process in a sandbox must not have. The calling
// process cannot get them back.

#ifndef SANDBOX_KERNEL_PRIVILEGES_H_
#define SANDBOX_KERNEL_PRIVILEGES_H_

#include <initializer_list>

#include "absl/status/status.h"

namespace sandbox {

// Becomes user and group 0 of the present user namespace, without supplementary
// groups.
absl::Status BecomeNamespaceRoot();

// Leaves only these capabilities (CAP_*) in the permitted, effective and
// bounding sets, and sets no_new_privs. A program that user 0 executes keeps
// them.
absl::Status KeepOnly(std::initializer_list<int> capabilities);

// Sets the resource limits with which commands start: no core dumps, and usual
// numbers whatever limits the server has.
absl::Status SetResourceLimits();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PRIVILEGES_H_

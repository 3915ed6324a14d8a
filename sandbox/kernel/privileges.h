// Drops the privileges that a process in a sandbox must not have. The calling
// process cannot get them back.

#ifndef SANDBOX_KERNEL_PRIVILEGES_H_
#define SANDBOX_KERNEL_PRIVILEGES_H_

#include <sys/types.h>

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

// Leaves at most these capabilities, of those that the calling process has.
// Programs that it executes as root get no others, unless it lacks CAP_SETPCAP.
absl::Status KeepAtMost(std::initializer_list<int> capabilities);

// The hard limit of core dumps with which commands start. It has no effect: a
// command cannot change the soft one, which is 1.
enum class CoreLimit {
  kOne,
  // The server's own. It can be lowered, to mark processes.
  kInherited,
};

// Sets the resource limits with which commands start: no core dumps, and usual
// numbers whatever limits the server has.
absl::Status SetResourceLimits(CoreLimit core = CoreLimit::kOne);

// When the host has no memory left, its kernel ends processes in the order of
// their oom_score_adj. These functions need root on the host, except the first.

// Puts the calling process and its future children first. Without root, they
// can move themselves back to where it was.
absl::Status BecomeFirstOomVictim();

// Puts a process of a sandbox and its future children first. They cannot move
// themselves back.
absl::Status MakeFirstOomVictim(pid_t pid);
// Puts the calling process and its future children behind others, but before
// those that the host has excepted.
absl::Status BecomeLateOomVictim();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PRIVILEGES_H_

// The user namespace of this process: that of the host, that of a container, or
// one of its own, which a user without privileges makes.

#ifndef SANDBOX_KERNEL_USER_NAMESPACE_H_
#define SANDBOX_KERNEL_USER_NAMESPACE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace sandbox {

// True if the commands of sandboxes have the user id of this process, since it
// cannot give them ids of their own: it is not root, or root of a user
// namespace that is not the host's. Then only namespaces and mounts keep
// commands from what belongs to this user.
bool CommandsAreThisUser();

// Fails with ISOLATION if commands would have the user id of this process, and
// it is that of the host's root, who owns the kernel's settings.
absl::Status CheckIsNotHostRoot();

// True if this process has CAP_SYS_ADMIN, which making a sandbox takes.
bool MayMount();

// True if the user namespace has a user and a group with this id.
bool HasId(uint32_t id);

// Moves the calling process, which must have one thread, into a user namespace
// and a mount namespace of its own. There it is root, and ids from 1 on are
// those that /etc/subuid and /etc/subgid give to the user, if there are any and
// newuidmap(1) is installed. Then it also has no supplementary groups any more.
//
// The caller must execute a program next: only then do the files that its
// children have in /proc belong to it.
//
// Fails with ISOLATION; the text says what the host refuses, and the remedy.
absl::Status EnterOwnUserNamespace();

// Gives up supplementary groups, if the kernel allows that. It does not in a
// user namespace whose only group is that of the user who made it.
void DropGroups();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_USER_NAMESPACE_H_

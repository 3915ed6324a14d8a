// The placeholders that stand in workspaces for read-only paths. A supervisor
// removes its own; one that was killed could not.

#ifndef SERVER_CORE_PLACEHOLDERS_H_
#define SERVER_CORE_PLACEHOLDERS_H_

#include "corral/supervisor/v1/supervisor.pb.h"

namespace server {

bool HasReadOnlyPaths(const corral::supervisor::v1::SandboxSpec& spec);

// Removes those of this sandbox that no other sandbox uses. No process of it
// may be left. Blocks on the disks of its workspaces.
void RemovePlaceholders(const corral::supervisor::v1::SandboxSpec& spec);

}  // namespace server

#endif  // SERVER_CORE_PLACEHOLDERS_H_

// Confines corral-egress to what it needs.

#ifndef SANDBOX_EGRESS_CONFINEMENT_H_
#define SANDBOX_EGRESS_CONFINEMENT_H_

#include "absl/status/status.h"

namespace egress {

// Limits memory, files, processes and descriptors, and loads a system call
// filter: sockets of TCP and UDP, pipes, and memory without PROT_EXEC. Files
// look absent. Any other call kills the process.
absl::Status Confine();

}  // namespace egress

#endif  // SANDBOX_EGRESS_CONFINEMENT_H_

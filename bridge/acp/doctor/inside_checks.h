// Checks, in a sandbox that exists, of what an agent needs there.

#ifndef BRIDGE_ACP_DOCTOR_INSIDE_CHECKS_H_
#define BRIDGE_ACP_DOCTOR_INSIDE_CHECKS_H_

#include <string>

#include "bridge/acp/doctor/trial.h"
#include "bridge/client/connection.h"
#include "corral/v1/mount.pb.h"

namespace bridge {

// Each of these blocks, for half a minute at most.

// Whether commands see the directory, and can write to it if it is writable.
Finding CheckMount(client::Connection& connection, const std::string& sandbox,
                   const corral::v1::Mount& mount);

// Returns the answer of the program to --version. `trial` has the program
// alone.
Finding CheckVersion(client::Connection& connection, const std::string& sandbox,
                     Trial trial);

}  // namespace bridge

#endif  // BRIDGE_ACP_DOCTOR_INSIDE_CHECKS_H_

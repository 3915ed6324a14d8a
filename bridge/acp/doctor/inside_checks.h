// Checks, in a sandbox that exists, of what an agent needs there.

#ifndef BRIDGE_ACP_DOCTOR_INSIDE_CHECKS_H_
#define BRIDGE_ACP_DOCTOR_INSIDE_CHECKS_H_

#include <string>

#include "bridge/acp/doctor/trial.h"
#include "bridge/client/connection.h"
#include "corral/v1/mount.pb.h"

namespace bridge {

// Each of these blocks, for half a minute at most.

// Checks that commands can read the mounted directory, or write to it if the
// mount is writable.
Finding CheckMount(client::Connection& connection, const std::string& sandbox,
                   const corral::v1::Mount& mount);

// Runs the agent's program with --version, and returns the first line of its
// output. `trial.argv` has the program alone.
Finding CheckVersion(client::Connection& connection, const std::string& sandbox,
                     Trial trial);

}  // namespace bridge

#endif  // BRIDGE_ACP_DOCTOR_INSIDE_CHECKS_H_

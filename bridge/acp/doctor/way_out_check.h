#ifndef BRIDGE_ACP_DOCTOR_WAY_OUT_CHECK_H_
#define BRIDGE_ACP_DOCTOR_WAY_OUT_CHECK_H_

#include <string>

#include "bridge/acp/doctor/trial.h"
#include "bridge/client/connection.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// Checks that a connection from inside reaches the rule's host at the rule's
// first port. The host is one name, without *. Blocks, for half a minute at
// most.
Finding CheckWayOut(client::Connection& connection, const std::string& sandbox,
                    const corral::v1::EgressRule& rule);

}  // namespace bridge

#endif  // BRIDGE_ACP_DOCTOR_WAY_OUT_CHECK_H_

// Converts the limits of a sandbox between corral.v1 and the spec for its
// supervisor, in which a number is 0 if there is no limit.

#ifndef SERVER_API_LIMITS_CONVERSION_H_
#define SERVER_API_LIMITS_CONVERSION_H_

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace server {

namespace wire = ::corral::supervisor::v1;

// Sets each limit to the wanted one or, if that is absent, to the default.
void SetLimits(const corral::v1::Limits& wanted,
               const corral::v1::Limits& defaults, wire::SandboxSpec* spec);

void DescribeLimits(const wire::SandboxSpec& spec, corral::v1::Limits* limits);

}  // namespace server

#endif  // SERVER_API_LIMITS_CONVERSION_H_

// The services of a sandbox (corral.v1.Sandbox.egress_services), which give it
// the use of credentials that it cannot read.

#ifndef SERVER_API_EGRESS_SERVICES_H_
#define SERVER_API_EGRESS_SERVICES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace server {

// The most services of a sandbox, and of a configuration.
inline constexpr int kMaxEgressServices = 64;

// Checks `egress_services` of a sandbox, whose path in the request is `field`.
// Errors are INVALID_FIELD.
absl::Status CheckEgressServices(absl::string_view field,
                                 const corral::v1::Sandbox& sandbox);

// Fails with INVALID_FIELD if the sandbox names a service that `offered` lacks,
// or whose file or command is in a directory that its commands see.
absl::Status CheckOfferedServices(
    absl::string_view field, const corral::v1::Sandbox& sandbox,
    const corral::supervisor::v1::Egress& offered);

// Leaves in `egress` only the services that the sandbox names.
void SelectServices(const corral::v1::Sandbox& sandbox,
                    corral::supervisor::v1::Egress* egress);

}  // namespace server

#endif  // SERVER_API_EGRESS_SERVICES_H_

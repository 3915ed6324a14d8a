// The request that goes to the upstream of a service.

#ifndef SANDBOX_EGRESS_SERVICE_REQUEST_H_
#define SANDBOX_EGRESS_SERVICE_REQUEST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/http_request.h"
#include "sandbox/egress/policy.h"

namespace egress {

// Makes the head for the service's upstream from a complete request, whose host
// was checked: the service's header with `value` in place of the client's and
// of Authorization, Proxy-Authorization and X-Api-Key; the upstream as Host;
// the connection ends with the answer. Path and all other fields stay. An
// upgrade is not asked for.
std::string MakeServiceRequest(const HttpRequest& request,
                               const Service& service, absl::string_view value);

}  // namespace egress

#endif  // SANDBOX_EGRESS_SERVICE_REQUEST_H_

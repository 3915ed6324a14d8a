// The most that a client may ask for: corral.config.v1.Ceilings, applied to
// requests whose fields are in the ranges of corral.v1 (see validation.h).
// `field` is the path of the checked message in its request, such as "command".

#ifndef SERVER_API_CEILINGS_H_
#define SERVER_API_CEILINGS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace server {

using Ceilings = ::corral::config::v1::Ceilings;

// Each fails with INVALID_FIELD, which names the field, its value and the
// ceiling, if a field is above its ceiling.
absl::Status CheckCeilings(const Ceilings& ceilings, absl::string_view field,
                           const corral::v1::Sandbox& sandbox);
absl::Status CheckCeilings(const Ceilings& ceilings, absl::string_view field,
                           const corral::v1::Command& command);

// Sets each absent field of `command` to its ceiling if the default of that
// field is above the ceiling or is "no limit".
void FillFromCeilings(const Ceilings& ceilings, corral::v1::Command* command);

}  // namespace server

#endif  // SERVER_API_CEILINGS_H_

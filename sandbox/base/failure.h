// The kind of a failure, for programs, beside the text of an absl::Status,
// which is for people. The kind travels with the status; a status's code says
// nothing.

#ifndef SANDBOX_BASE_FAILURE_H_
#define SANDBOX_BASE_FAILURE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// OK if `kind` is NONE. A kind that this version does not know becomes FAULT.
absl::Status MakeFailure(wire::Reply::Failure kind, absl::string_view message);

// Gives a failed `status` this kind, unless it has one already.
absl::Status WithFailure(wire::Reply::Failure kind, absl::Status status);

// Returns the kind of failure: NONE if `status` is OK, FAULT if it was given
// none.
wire::Reply::Failure FailureOf(const absl::Status& status);

}  // namespace sandbox

#endif  // SANDBOX_BASE_FAILURE_H_

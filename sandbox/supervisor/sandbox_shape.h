// Sandboxes that are made in the same way, whoever asks for them, have the same
// shape. One whose shape is known can be completed before it is requested.
//
// May be called from any thread.

#ifndef SANDBOX_SUPERVISOR_SANDBOX_SHAPE_H_
#define SANDBOX_SUPERVISOR_SANDBOX_SHAPE_H_

#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// Returns the description without what differs between requests for equal
// sandboxes: names, times, identities. Descriptions with the same shape are
// equal when they are serialized.
wire::SandboxSpec ShapeOf(wire::SandboxSpec spec);

// Returns the shape of what a supervisor prepares before it knows more. To
// complete it means to wait for that; a failure does not end the supervisor.
wire::SandboxSpec ProfileOnly(const wire::SandboxSpec& spec);

// Returns true unless completing such a sandbox has an effect outside of it: a
// process for the way out, a limit of the space of a directory, placeholders
// for paths that commands cannot change.
bool CanBeCompletedAhead(const wire::SandboxSpec& spec);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SANDBOX_SHAPE_H_

// Converts the traces of supervisors to those of corral.v1.

#ifndef SERVER_API_TRACE_CONVERSION_H_
#define SERVER_API_TRACE_CONVERSION_H_

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/trace.pb.h"

namespace server {

namespace wire = ::corral::supervisor::v1;

// Sets the moments that have come.
corral::v1::ExecutionTrace FromWire(const wire::ExecutionTrace& trace);

}  // namespace server

#endif  // SERVER_API_TRACE_CONVERSION_H_

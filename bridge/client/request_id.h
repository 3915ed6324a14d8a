// Request ids of corral.v1 (see proto/corral/v1/sandbox.proto): what makes a
// call that creates something safe to repeat.

#ifndef BRIDGE_CLIENT_REQUEST_ID_H_
#define BRIDGE_CLIENT_REQUEST_ID_H_

#include <string>

namespace client {

// A new random UUID (RFC 4122, version 4), from the kernel. To be made once for
// each thing that is wanted, however often it is asked for. Thread-safe.
std::string NewRequestId();

}  // namespace client

#endif  // BRIDGE_CLIENT_REQUEST_ID_H_

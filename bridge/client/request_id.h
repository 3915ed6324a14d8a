// Request ids, which make a call that creates something safe to repeat (see
// proto/corral/v1/sandbox.proto).

#ifndef BRIDGE_CLIENT_REQUEST_ID_H_
#define BRIDGE_CLIENT_REQUEST_ID_H_

#include <string>

namespace client {

// Returns a new random UUID (RFC 4122, version 4). Make one for each thing to
// create, and use it for all attempts. Thread-safe.
std::string NewRequestId();

}  // namespace client

#endif  // BRIDGE_CLIENT_REQUEST_ID_H_

// Recognizes a repeated request: see the conventions of corral.v1.

#ifndef SERVER_API_REQUEST_IDENTITY_H_
#define SERVER_API_REQUEST_IDENTITY_H_

#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "google/protobuf/message.h"

namespace server {

// Returns the identity of a request that creates something: its request id,
// which may be empty, and the digest of its type and all its fields.
corral::supervisor::v1::RequestIdentity Identify(
    const google::protobuf::Message& request, const std::string& request_id);

// Returns true if the two requests were equal, and false if one of them has no
// digest.
bool AreSame(const corral::supervisor::v1::RequestIdentity& one,
             const corral::supervisor::v1::RequestIdentity& other);

}  // namespace server

#endif  // SERVER_API_REQUEST_IDENTITY_H_

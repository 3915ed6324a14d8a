// A call of services whose generated stubs Debian does not ship.

#ifndef TESTS_INTEGRATION_RAW_CALL_H_
#define TESTS_INTEGRATION_RAW_CALL_H_

#include <memory>
#include <string>

#include "grpcpp/channel.h"

namespace tests {

// Sends one serialized request to "/package.Service/Method" and returns the
// first answer, serialized; empty if there is none. `channel` is used by nobody
// else meanwhile.
std::string RawCall(const std::shared_ptr<grpc::Channel>& channel,
                    const std::string& method, const std::string& request);

}  // namespace tests

#endif  // TESTS_INTEGRATION_RAW_CALL_H_

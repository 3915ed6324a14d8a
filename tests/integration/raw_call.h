// Calls services for which Debian ships no generated stubs.

#ifndef TESTS_INTEGRATION_RAW_CALL_H_
#define TESTS_INTEGRATION_RAW_CALL_H_

#include <memory>
#include <string>

#include "grpcpp/channel.h"

namespace tests {

// Sends one serialized request to "/package.Service/Method". Returns the first
// answer, serialized, or an empty string if there is none. No other thread may
// use `channel` during the call.
std::string RawCall(const std::shared_ptr<grpc::Channel>& channel,
                    const std::string& method, const std::string& request);

}  // namespace tests

#endif  // TESTS_INTEGRATION_RAW_CALL_H_

// FailsWith(): the kind and the message of a failure; see
// sandbox/base/failure.h.

#ifndef TESTS_FAILURE_MATCHERS_H_
#define TESTS_FAILURE_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "sandbox/base/failure.h"

namespace tests {

MATCHER_P2(FailsWith, kind, message, "") {
  const absl::Status& status = arg;
  *result_listener << "of kind " << sandbox::FailureOf(status) << " ";
  return sandbox::FailureOf(status) == kind &&
         ::testing::ExplainMatchResult(message, std::string(status.message()),
                                       result_listener);
}

}  // namespace tests

#endif  // TESTS_FAILURE_MATCHERS_H_

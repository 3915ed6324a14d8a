#include "tests/chaos/calls.h"

#include "absl/strings/str_cat.h"

namespace tests {

std::string ToString(const grpc::Status& status) {
  return status.ok()
             ? "OK"
             : absl::StrCat(status.error_code(), " ", status.error_message());
}

}  // namespace tests

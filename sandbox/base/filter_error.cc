#include "sandbox/base/filter_error.h"

#include "absl/strings/str_cat.h"

namespace sandbox {

absl::Status FilterError(int error, absl::string_view call) {
  return error == kNoFilterMemory
             ? absl::FailedPreconditionError(absl::StrCat(
                   call, ": errno ", error, ": ", kNoFilterMemoryText))
             : absl::ErrnoToStatus(error, call);
}

}  // namespace sandbox

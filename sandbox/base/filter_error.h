// Why the kernel refuses a system call filter.
//
// It compiles every filter, into memory that all filters of the host share. A
// host of containers may run out of it after weeks.

#ifndef SANDBOX_BASE_FILTER_ERROR_H_
#define SANDBOX_BASE_FILTER_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sandbox {

// The errno then: ENOTSUPP of the kernel, which is in no header and which
// strerror(3) does not know.
constexpr int kNoFilterMemory = 524;
constexpr char kNoFilterMemoryText[] =
    "this host's memory for compiled filters is used up; raise "
    "net.core.bpf_jit_limit";

// Returns the error of a call that loads a filter, whose name is `call`:
// FailedPrecondition for kNoFilterMemory, else as absl::ErrnoToStatus().
absl::Status FilterError(int error, absl::string_view call);

}  // namespace sandbox

#endif  // SANDBOX_BASE_FILTER_ERROR_H_

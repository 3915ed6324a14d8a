#ifndef SANDBOX_BASE_PROGRAM_IMAGE_H_
#define SANDBOX_BASE_PROGRAM_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Puts an executable file that is part of this program into memory. Returns a
// descriptor to execute it with; nobody needs a file on the disk. `name` is
// shown below /proc. Errors: those of memfd_create(2), write(2), open(2).
absl::StatusOr<UniqueFd> MakeProgramImage(const char* name,
                                          absl::string_view image);

}  // namespace sandbox

#endif  // SANDBOX_BASE_PROGRAM_IMAGE_H_

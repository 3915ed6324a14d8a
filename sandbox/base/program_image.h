// Programs that are part of this one: they are executed from memory, so that no
// file on the disk is needed.
//
// May be called from any thread.

#ifndef SANDBOX_BASE_PROGRAM_IMAGE_H_
#define SANDBOX_BASE_PROGRAM_IMAGE_H_

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Puts an executable file into memory. Returns a descriptor to execute it with.
// `name` is shown below /proc. Errors: those of memfd_create(2), write(2),
// open(2).
absl::StatusOr<UniqueFd> MakeProgramImage(const char* name,
                                          absl::string_view image);

// A child's socket to its parent.
inline constexpr int kProgramSocket = 3;

enum class ErrorOutput { kInherited, kDiscarded };

// Starts the program as a child, with `name` as argv[0], `argument`, unless it
// is null, as argv[1], and without an environment. It gets `socket` as
// kProgramSocket and its own image as the next descriptor, which it should
// close; input and output are /dev/null. The caller reaps it. Errors: those of
// fcntl(2) and posix_spawn(3).
absl::StatusOr<pid_t> StartProgram(const char* name, const UniqueFd& image,
                                   int socket, ErrorOutput error,
                                   const char* argument = nullptr);

}  // namespace sandbox

#endif  // SANDBOX_BASE_PROGRAM_IMAGE_H_

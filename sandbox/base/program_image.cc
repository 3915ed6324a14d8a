#include "sandbox/base/program_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sandbox {

absl::StatusOr<UniqueFd> MakeProgramImage(const char* name,
                                          absl::string_view image) {
  UniqueFd memfd(::memfd_create(name, MFD_CLOEXEC));
  if (!memfd.valid() || ::write(memfd.get(), image.data(), image.size()) !=
                            static_cast<ssize_t>(image.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("memfd of ", name));
  }
  // Executing a file that is open for writing is refused (ETXTBSY).
  UniqueFd read_only(::open(absl::StrCat("/proc/self/fd/", memfd.get()).c_str(),
                            O_RDONLY | O_CLOEXEC));
  if (!read_only.valid()) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("reopen the memfd of ", name));
  }
  return read_only;
}

}  // namespace sandbox

#include "bridge/cli/attach/nonblocking.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace bridge {

sandbox::UniqueFd ReopenNonblocking(int fd, int access) {
  struct stat status;
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fstat(fd, &status) != 0 ||
      !(S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) ||
      ((flags & O_ACCMODE) != access && (flags & O_ACCMODE) != O_RDWR)) {
    return {};
  }
  return sandbox::UniqueFd(::open(absl::StrCat("/proc/self/fd/", fd).c_str(),
                                  access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace bridge

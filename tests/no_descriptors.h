// Uses up the descriptors of this process.

#ifndef TESTS_NO_DESCRIPTORS_H_
#define TESTS_NO_DESCRIPTORS_H_

#include <fcntl.h>
#include <sys/resource.h>

#include "sandbox/base/unique_fd.h"

namespace tests {

// While an object exists, this process can open nothing more, unless it closes
// something.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const sandbox::UniqueFd lowest(::fcntl(0, F_DUPFD_CLOEXEC, 0));
    const rlimit none = {static_cast<rlim_t>(lowest.get()), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace tests

#endif  // TESTS_NO_DESCRIPTORS_H_

// Makes files full, as a disk is.

#ifndef TESTS_FILE_SIZE_LIMIT_H_
#define TESTS_FILE_SIZE_LIMIT_H_

#include <sys/resource.h>

namespace tests {

// While an object exists, no file of this process grows beyond `size` bytes: a
// write(2) that would do so writes a part. One that could write nothing would
// end the process (SIGXFSZ), also one to the log of a test.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small = {size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace tests

#endif  // TESTS_FILE_SIZE_LIMIT_H_

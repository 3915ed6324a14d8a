#include "sandbox/storage/mapped_page.h"

#include <sys/mman.h>

#include <cerrno>

#include "absl/status/status.h"

namespace sandbox {

absl::StatusOr<std::shared_ptr<MappedPage>> MappedPage::Map(int fd,
                                                            bool writable) {
  void* page =
      ::mmap(nullptr, kSize, writable ? PROT_READ | PROT_WRITE : PROT_READ,
             MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, "mmap");
  }
  return std::shared_ptr<MappedPage>(new MappedPage(static_cast<char*>(page)));
}

MappedPage::~MappedPage() { ::munmap(page_, kSize); }

}  // namespace sandbox

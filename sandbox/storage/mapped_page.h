// The first page of a file, mapped into memory. Words in it are loaded and
// stored as mapped_word.h says, since the disk may fail.
//
// Thread-safe, as far as what is stored in the page is.

#ifndef SANDBOX_STORAGE_MAPPED_PAGE_H_
#define SANDBOX_STORAGE_MAPPED_PAGE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"

namespace sandbox {

class MappedPage {
 public:
  static constexpr size_t kSize = 4096;

  // Maps the page, writable or not. In a file that ends before it each access
  // fails, as on a broken disk.
  static absl::StatusOr<std::shared_ptr<MappedPage>> Map(int fd, bool writable);
  ~MappedPage();
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;

  // Returns the object at `position`, which is a multiple of its alignment.
  template <typename T>
  T* At(size_t position) const {
    return reinterpret_cast<T*>(page_ + position);
  }

 private:
  explicit MappedPage(char* page) : page_(page) {}
  char* const page_;
};

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_MAPPED_PAGE_H_

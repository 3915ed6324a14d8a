#include "sandbox/storage/execution_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/record_file.h"

namespace sandbox {
namespace {

absl::Status WriteAt(const UniqueFd& file, absl::string_view data,
                     size_t position, const char* what) {
  const ssize_t written = ::pwrite(file.get(), data.data(), data.size(),
                                   static_cast<off_t>(position));
  if (written != static_cast<ssize_t>(data.size())) {
    // A short write sets no errno.
    return absl::ErrnoToStatus(written < 0 ? errno : ENOSPC,
                               absl::StrCat("write ", what));
  }
  return absl::OkStatus();
}

absl::Status WriteRecord(const UniqueFd& file, const RecordPlace& place,
                         absl::string_view sealed, const char* what) {
  if (sealed.size() <= place.size) {
    return WriteAt(file, sealed, place.position, what);
  }
  if (sealed.size() > place.long_size) {
    return absl::InternalError(absl::StrCat(what, " of ", sealed.size(),
                                            " bytes, at most ", place.long_size,
                                            " are allowed"));
  }
  return WriteAt(file, sealed, place.long_position, what);
}

// Reads up to `size` bytes; fewer at the end of the file.
absl::StatusOr<std::string> ReadAt(const UniqueFd& file, size_t position,
                                   size_t size) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) {
    return absl::ErrnoToStatus(errno, "fstat");
  }
  const auto end = static_cast<size_t>(status.st_size);
  std::string data(end > position ? std::min(size, end - position) : 0, '\0');
  const ssize_t got = ::pread(file.get(), data.data(), data.size(),
                              static_cast<off_t>(position));
  if (got < 0) {
    return absl::ErrnoToStatus(errno, "read");
  }
  data.resize(static_cast<size_t>(got));
  return data;
}

std::string FirstPage() {
  std::string page(MappedPage::kSize, '\0');
  page.replace(0, sizeof(ExecutionHeader::kMagic), ExecutionHeader::kMagic,
               sizeof(ExecutionHeader::kMagic));
  return page;
}

absl::Status Named(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

}  // namespace

ExecutionFile::ExecutionFile(std::string path, UniqueFd file,
                             std::shared_ptr<MappedPage> page)
    : path_(std::move(path)), file_(std::move(file)), page_(std::move(page)) {}

absl::StatusOr<std::shared_ptr<ExecutionFile>> ExecutionFile::Create(
    std::string path) {
  UniqueFd file(::open(
      path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("create ", path));
  }
  // The page is written, not only the size set: a store to an allocated page
  // cannot fail on a full disk.
  const absl::Status written = WriteAt(file, FirstPage(), 0, path.c_str());
  absl::StatusOr<std::shared_ptr<MappedPage>> page =
      written.ok() ? MappedPage::Map(file.get(), /*writable=*/true) : written;
  if (!page.ok()) {
    ::unlink(path.c_str());
    return page.status();
  }
  return std::shared_ptr<ExecutionFile>(
      new ExecutionFile(std::move(path), std::move(file), *std::move(page)));
}

absl::Status ExecutionFile::Rename(std::string path) {
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(),
                  RENAME_NOREPLACE) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("rename to ", path));
  }
  path_ = std::move(path);
  return absl::OkStatus();
}

absl::Status ExecutionFile::WriteStart(absl::string_view sealed) {
  return WriteRecord(file_, kStartPlace, sealed, "the record of the start");
}

absl::Status ExecutionFile::WriteEnd(absl::string_view sealed) {
  return WriteRecord(file_, kEndPlace, sealed, "the record of the end");
}

absl::StatusOr<ExecutionRecords> ExecutionRecords::Open(
    const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  // EISDIR is a failed precondition.
  absl::StatusOr<std::string> page = ReadAt(file, 0, MappedPage::kSize);
  if (!page.ok()) {
    return Named(path, page.status());
  }
  if (page->size() < MappedPage::kSize ||
      std::memcmp(page->data(), ExecutionHeader::kMagic,
                  sizeof(ExecutionHeader::kMagic)) != 0) {
    return absl::DataLossError(
        absl::StrCat(path, ": this is no file of an execution"));
  }
  return ExecutionRecords(path, std::move(file), *std::move(page));
}

ExecutionRecords::ExecutionRecords(std::string path, UniqueFd file,
                                   std::string page)
    : path_(std::move(path)), file_(std::move(file)), page_(std::move(page)) {}

absl::Status ExecutionRecords::Read(
    const RecordPlace& place, google::protobuf::MessageLite* message) const {
  const absl::string_view page(page_);
  if (UnsealRecord(page.substr(place.position, place.size), message).ok()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> content =
      ReadAt(file_, place.long_position, place.long_size);
  const absl::Status read =
      content.ok() ? UnsealRecord(*content, message) : content.status();
  return read.ok() ? read : Named(path_, read);
}

absl::Status ExecutionRecords::ReadStart(
    google::protobuf::MessageLite* message) const {
  return Read(kStartPlace, message);
}

absl::Status ExecutionRecords::ReadEnd(
    google::protobuf::MessageLite* message) const {
  return Read(kEndPlace, message);
}

bool ExecutionRecords::synced() const {
  uint64_t synced;
  std::memcpy(&synced, &page_[offsetof(ExecutionHeader, synced)],
              sizeof(synced));
  return synced != 0;
}

}  // namespace sandbox

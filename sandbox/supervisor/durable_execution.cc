#include "sandbox/supervisor/durable_execution.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {
namespace {

constexpr size_t kChunk = size_t{64} << 10;

const LogPlace* const kPlaces[] = {&kOutputPlace, &kErrorPlace};

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  return file;
}

absl::Status SyncData(int file) {
  return ::fdatasync(file) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, "fdatasync an execution");
}

absl::Status WriteAt(int file, absl::string_view data, size_t position) {
  const ssize_t written =
      ::pwrite(file, data.data(), data.size(), static_cast<off_t>(position));
  if (written != static_cast<ssize_t>(data.size())) {
    // A short write sets no errno.
    return absl::ErrnoToStatus(written < 0 ? errno : EIO,
                               "rewrite an execution");
  }
  return absl::OkStatus();
}

// Reads `size` bytes and writes them to the same place.
absl::Status RewriteBytes(int file, off_t offset, size_t size) {
  char buffer[kChunk];
  const ssize_t got = ::pread(file, buffer, size, offset);
  if (got < 0) {
    return absl::ErrnoToStatus(errno, "read what is to be rewritten");
  }
  return WriteAt(file, {buffer, static_cast<size_t>(got)},
                 static_cast<size_t>(offset));
}

// Rewrites everything from `begin` on, except for holes.
absl::Status RewriteData(int file, size_t begin) {
  auto hole = static_cast<off_t>(begin);
  while (true) {
    const off_t data = ::lseek(file, hole, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
      return absl::OkStatus();  // none is left
    }
    hole = data < 0 ? data : ::lseek(file, data, SEEK_HOLE);
    if (hole < 0) {
      return absl::ErrnoToStatus(errno, "find what is to be rewritten");
    }
    for (off_t at = data; at < hole; at += kChunk) {
      const auto left = static_cast<size_t>(hole - at);
      RETURN_IF_ERROR(RewriteBytes(file, at, left < kChunk ? left : kChunk));
    }
  }
}

}  // namespace

absl::StatusOr<DurableExecution> DurableExecution::OpenWithoutOutput(
    const std::string& path) {
  DurableExecution execution;
  ASSIGN_OR_RETURN(execution.file_, OpenFile(path, O_RDWR));
  return execution;
}

DurableExecution DurableExecution::WithoutOutput(
    std::shared_ptr<const ExecutionFile> file) {
  DurableExecution execution;
  execution.shared_ = std::move(file);
  return execution;
}

absl::StatusOr<DurableExecution> DurableExecution::Open(
    const std::string& path) {
  ASSIGN_OR_RETURN(DurableExecution execution, OpenWithoutOutput(path));
  std::array<char, kEndPlace.position> headers;
  const ssize_t got =
      ::pread(execution.file_.get(), headers.data(), headers.size(), 0);
  if (got != static_cast<ssize_t>(headers.size())) {
    return absl::ErrnoToStatus(got < 0 ? errno : EIO,
                               absl::StrCat("read ", path));
  }
  for (const LogPlace* place : kPlaces) {
    uint64_t& end = execution.ends_[place->number];
    std::memcpy(
        &end, &headers[place->header + offsetof(OutputLogHeader::Fields, end)],
        sizeof(end));
    if (end > place->window_size) {
      ASSIGN_OR_RETURN(execution.rests_[place->number],
                       OpenFile(absl::StrCat(path, place->suffix), O_RDWR));
    }
  }
  return execution;
}

absl::Status DurableExecution::SyncFiles(const std::string& end,
                                         bool rewrite) const {
  if (rewrite) {
    RETURN_IF_ERROR(Rewrite(end));
  }
  for (const UniqueFd& rest : rests_) {
    if (!end.empty() && rest.valid()) {
      RETURN_IF_ERROR(SyncData(rest.get()));
    }
  }
  return SyncData(fd());
}

absl::Status DurableExecution::Rewrite(const std::string& end) const {
  // One byte makes the kernel write the whole page. The rest of the first page
  // and the bytes after the window's end may be changed at any time.
  RETURN_IF_ERROR(RewriteBytes(fd(), 0, 1));
  if (ends_[kOutputPlace.number] > 0) {
    RETURN_IF_ERROR(
        RewriteBytes(fd(), static_cast<off_t>(kOutputPlace.window), 1));
  }
  RETURN_IF_ERROR(RewriteData(fd(), kStartPlace.long_position));
  if (end.empty()) {
    return absl::OkStatus();
  }
  const bool is_long = end.size() > kEndPlace.size;
  RETURN_IF_ERROR(WriteAt(
      fd(), end, is_long ? kEndPlace.long_position : kEndPlace.position));
  for (const UniqueFd& rest : rests_) {
    if (rest.valid()) {
      RETURN_IF_ERROR(RewriteData(rest.get(), 0));
    }
  }
  return absl::OkStatus();
}

absl::Status DurableExecution::Confirm() const {
  const uint64_t words[] = {1, ends_[0], ends_[1]};
  static_assert(offsetof(ExecutionHeader, synced_ends) ==
                offsetof(ExecutionHeader, synced) + sizeof(words[0]));
  RETURN_IF_ERROR(WriteAt(fd(),
                          {reinterpret_cast<const char*>(words), sizeof(words)},
                          offsetof(ExecutionHeader, synced)));
  return SyncData(fd());
}

absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path) {
  return OpenFile(path, O_RDONLY | O_DIRECTORY);
}

absl::Status SyncNames(const UniqueFd& directory) {
  return ::fsync(directory.get()) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, "fsync a directory");
}

absl::Status SyncFile(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_RDONLY));
  return ::fsync(file.get()) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, absl::StrCat("fsync ", path));
}

}  // namespace sandbox

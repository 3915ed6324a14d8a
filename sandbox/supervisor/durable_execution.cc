#include "sandbox/supervisor/durable_execution.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/log_names.h"

namespace sandbox {
namespace {

constexpr size_t kChunk = size_t{64} << 10;
// The magic of a log's header. The writer may change the rest of the page at
// any time: see sandbox/storage/output_log.h.
constexpr size_t kMagic = 8;
constexpr off_t kHeader = 4096;

absl::StatusOr<UniqueFd> OpenFile(const UniqueFd& directory, const char* name,
                                  int flags) {
  UniqueFd file(
      ::openat(directory.get(), name, flags | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", name));
  }
  return file;
}

absl::Status Sync(const UniqueFd& file, const char* name) {
  return ::fsync(file.get()) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, absl::StrCat("fsync ", name));
}

absl::Status WriteAt(const UniqueFd& file, const char* data, size_t size,
                     off_t offset, const char* what) {
  const ssize_t written = ::pwrite(file.get(), data, size, offset);
  if (written != static_cast<ssize_t>(size)) {
    // A short write sets no errno.
    return absl::ErrnoToStatus(written < 0 ? errno : EIO, what);
  }
  return absl::OkStatus();
}

// Reads `size` bytes and writes them to the same place.
absl::Status RewriteBytes(const UniqueFd& file, off_t offset, size_t size) {
  char buffer[kChunk];
  const ssize_t got = ::pread(file.get(), buffer, size, offset);
  if (got < 0) {
    return absl::ErrnoToStatus(errno, "read a file that is to be rewritten");
  }
  return WriteAt(file, buffer, static_cast<size_t>(got), offset,
                 "rewrite a file");
}

// Rewrites everything from `begin` on, except for holes.
absl::Status RewriteData(const UniqueFd& file, off_t begin) {
  off_t hole = begin;
  while (true) {
    const off_t data = ::lseek(file.get(), hole, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
      return absl::OkStatus();  // none is left
    }
    hole = data < 0 ? data : ::lseek(file.get(), data, SEEK_HOLE);
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

absl::StatusOr<DurableExecution> DurableExecution::Open(
    const std::string& directory) {
  UniqueFd opened(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", directory));
  }
  return DurableExecution(std::move(opened));
}

absl::Status DurableExecution::SyncFiles(const std::string& end,
                                         bool rewrite) const {
  ASSIGN_OR_RETURN(const UniqueFd start,
                   OpenFile(directory_, "start.pb", O_RDWR));
  if (rewrite) {
    RETURN_IF_ERROR(RewriteData(start, 0));
  }
  RETURN_IF_ERROR(Sync(start, "start.pb"));
  if (end.empty()) {
    return absl::OkStatus();
  }
  for (const char* name : kLogNames) {
    absl::Status synced = SyncLog(name, rewrite);
    if (!synced.ok() && !absl::IsNotFound(synced)) {
      return synced;
    }
  }
  return SyncEnd(end, rewrite);
}

absl::Status DurableExecution::SyncLog(const char* name, bool rewrite) const {
  ASSIGN_OR_RETURN(const UniqueFd log, OpenFile(directory_, name, O_RDWR));
  if (rewrite) {
    RETURN_IF_ERROR(RewriteBytes(log, 0, kMagic));
    RETURN_IF_ERROR(RewriteData(log, kHeader));
  }
  return ::fdatasync(log.get()) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, absl::StrCat("fdatasync ", name));
}

absl::Status DurableExecution::SyncEnd(const std::string& end,
                                       bool rewrite) const {
  absl::StatusOr<UniqueFd> file = OpenFile(directory_, "exit.pb.new", O_RDWR);
  if (absl::IsNotFound(file.status())) {
    // An earlier attempt renamed it before a later step failed.
    file = OpenFile(directory_, "exit.pb", O_RDWR);
  }
  RETURN_IF_ERROR(file.status());
  if (rewrite) {
    RETURN_IF_ERROR(
        WriteAt(*file, end.data(), end.size(), 0, "write exit.pb.new"));
  }
  return Sync(*file, "exit.pb.new");
}

absl::Status DurableExecution::Publish() const {
  if (::renameat(directory_.get(), "exit.pb.new", directory_.get(),
                 "exit.pb") != 0 &&
      errno != ENOENT) {
    return absl::ErrnoToStatus(errno, "rename to exit.pb");
  }
  return absl::OkStatus();
}

absl::Status DurableExecution::SyncDirectory() const {
  RETURN_IF_ERROR(Sync(directory_, "the execution's directory"));
  ASSIGN_OR_RETURN(const UniqueFd parent,
                   OpenFile(directory_, "..", O_RDONLY | O_DIRECTORY));
  return Sync(parent, "the directory of executions");
}

}  // namespace sandbox

// Changes logs that nobody writes any more. Uses system calls instead of a
// mapping to write the header: a disk that fails then causes an error, not
// SIGBUS.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {
namespace {

using Page = OutputLogHeader::Page;

struct OpenedLog {
  UniqueFd file;
  OutputLogState state;
};

absl::StatusOr<OpenedLog> OpenLog(const std::string& path) {
  OpenedLog log;
  log.file.Reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!log.file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open log ", path));
  }
  ASSIGN_OR_RETURN(const OutputLogHeader header,
                   OutputLogHeader::Map(log.file.get(), /*writable=*/false));
  ASSIGN_OR_RETURN(log.state, header.Load());
  return log;
}

absl::Status Store(const UniqueFd& file, size_t field, uint64_t value) {
  const ssize_t written =
      ::pwrite(file.get(), &value, sizeof(value), static_cast<off_t>(field));
  return written == sizeof(value)
             ? absl::OkStatus()
             : absl::ErrnoToStatus(written < 0 ? errno : EIO,
                                   "write(log header)");
}

absl::Status Punch(const UniqueFd& file, uint64_t begin, uint64_t end) {
  if (begin < end &&
      ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(OutputLogHeader::kSize + begin),
                  static_cast<off_t>(end - begin)) != 0) {
    return absl::ErrnoToStatus(errno, "fallocate(log, punch a hole)");
  }
  return absl::OkStatus();
}

// Returns the first byte at or after `offset` that is not on the disk.
absl::StatusOr<uint64_t> FindHole(const UniqueFd& file, uint64_t offset) {
  const off_t hole =
      ::lseek(file.get(), static_cast<off_t>(OutputLogHeader::kSize + offset),
              SEEK_HOLE);
  if (hole < 0) {
    // ENXIO means that the file ends before `offset`.
    return errno == ENXIO ? absl::StatusOr<uint64_t>(offset)
                          : absl::StatusOr<uint64_t>(absl::ErrnoToStatus(
                                errno, "lseek(log, SEEK_HOLE)"));
  }
  return static_cast<uint64_t>(hole) - OutputLogHeader::kSize;
}

// Moves `offset` to the next data, if there is any before `end`.
absl::Status SkipHole(const UniqueFd& file, uint64_t end, uint64_t* offset) {
  const off_t data =
      ::lseek(file.get(), static_cast<off_t>(OutputLogHeader::kSize + *offset),
              SEEK_DATA);
  if (data < 0) {
    return errno == ENXIO ? absl::OkStatus()
                          : absl::ErrnoToStatus(errno, "lseek(log, SEEK_DATA)");
  }
  const uint64_t begin = static_cast<uint64_t>(data) - OutputLogHeader::kSize;
  *offset = begin < end ? std::max(*offset, begin) : *offset;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FindEnd(const UniqueFd& file,
                                 const OutputLogState& state) {
  ASSIGN_OR_RETURN(uint64_t hole, FindHole(file, state.begin));
  if (state.gap_begin <= hole && hole < state.gap_end) {
    ASSIGN_OR_RETURN(hole, FindHole(file, state.gap_end));
    // The whole tail is missing, so that there is no gap either.
    hole = hole == state.gap_end ? state.gap_begin : hole;
  }
  return std::min(hole, state.end);
}

absl::Status Cut(const UniqueFd& file, OutputLogState* state) {
  // The hole may have reached the disk before the header that describes it.
  RETURN_IF_ERROR(SkipHole(file, state->end, &state->begin));
  if (state->gap_end != 0) {
    RETURN_IF_ERROR(SkipHole(file, state->end, &state->gap_end));
  }
  ASSIGN_OR_RETURN(state->end, FindEnd(file, *state));
  if (state->end <= state->gap_begin) {
    state->gap_end = 0;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpireOutputLog(const std::string& path) {
  ASSIGN_OR_RETURN(const OpenedLog log, OpenLog(path));
  // Readers load `expired` first, and then ignore `begin`.
  RETURN_IF_ERROR(Store(log.file, offsetof(Page, expired), 1));
  RETURN_IF_ERROR(Store(log.file, offsetof(Page, begin), log.state.end));
  return Punch(log.file, 0, log.state.end);
}

absl::Status CutOutputLog(const std::string& path) {
  ASSIGN_OR_RETURN(OpenedLog log, OpenLog(path));
  if (!log.state.expired) {
    RETURN_IF_ERROR(Cut(log.file, &log.state));
    RETURN_IF_ERROR(Store(log.file, offsetof(Page, begin), log.state.begin));
    RETURN_IF_ERROR(
        Store(log.file, offsetof(Page, gap_end), log.state.gap_end));
    RETURN_IF_ERROR(Store(log.file, offsetof(Page, end), log.state.end));
  }
  return Store(log.file, offsetof(Page, closed), 1);
}

}  // namespace sandbox

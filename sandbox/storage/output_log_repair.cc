// Changes logs that nobody writes any more. Uses system calls instead of a
// mapping to write the header: a disk that fails then causes an error, not
// SIGBUS.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/log_pieces.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {
namespace {

using Fields = OutputLogHeader::Fields;

// The bytes that a disk writes at once.
constexpr uint64_t kSector = 512;

// A log, opened for changes, with all its files.
struct ChangedLog {
  static absl::StatusOr<ChangedLog> Open(const std::string& execution,
                                         wire::Stream stream);
  absl::Status Store(size_t field, uint64_t value) const;

  OpenedLog log;
  UniqueFd rest;
  LogFiles files;
  OutputLogState state;
};

absl::StatusOr<ChangedLog> ChangedLog::Open(const std::string& execution,
                                            wire::Stream stream) {
  ASSIGN_OR_RETURN(OpenedLog log, OpenedLog::Open(execution, stream, O_RDWR));
  ChangedLog changed{std::move(log), UniqueFd(), {}, {}};
  ASSIGN_OR_RETURN(changed.state, changed.log.header.Load());
  changed.files.first = changed.log.file.get();
  if (changed.log.place->suffix == nullptr) {
    changed.files.rest = changed.files.first;
    return changed;
  }
  absl::StatusOr<UniqueFd> rest = changed.log.OpenRest(O_RDWR);
  if (!rest.ok() && !absl::IsNotFound(rest.status())) {
    return rest.status();
  }
  changed.rest = rest.ok() ? *std::move(rest) : UniqueFd();
  changed.files.rest = changed.rest.get();
  return changed;
}

absl::Status ChangedLog::Store(size_t field, uint64_t value) const {
  const ssize_t written =
      ::pwrite(files.first, &value, sizeof(value),
               static_cast<off_t>(log.place->header + field));
  return written == sizeof(value)
             ? absl::OkStatus()
             : absl::ErrnoToStatus(written < 0 ? errno : EIO,
                                   "write(log header)");
}

// Returns the first byte from `offset` on that is not on the disk. All of them
// are in the file with the rest.
absl::StatusOr<uint64_t> FindHole(const ChangedLog& log, uint64_t offset) {
  if (log.files.rest < 0) {
    return offset;
  }
  const LogPiece piece = PieceAt(log.files, *log.log.place, offset);
  const off_t hole = ::lseek(piece.file, piece.position, SEEK_HOLE);
  if (hole < 0) {
    // ENXIO means that the file ends before `offset`.
    return errno == ENXIO ? absl::StatusOr<uint64_t>(offset)
                          : absl::StatusOr<uint64_t>(absl::ErrnoToStatus(
                                errno, "lseek(log, SEEK_HOLE)"));
  }
  return static_cast<uint64_t>(hole) - log.log.place->rest;
}

// Returns the first position from `position` on that is in no hole. No value:
// there is none.
absl::StatusOr<std::optional<off_t>> SeekData(int file, off_t position) {
  const off_t data = ::lseek(file, position, SEEK_DATA);
  if (data < 0 && errno != ENXIO) {
    return absl::ErrnoToStatus(errno, "lseek(log, SEEK_DATA)");
  }
  return data < 0 ? std::nullopt : std::optional<off_t>(data);
}

// Returns the first byte from `offset` on that is on the disk, or the end of
// the log if there is none. All of them are in the file with the rest.
absl::StatusOr<uint64_t> FindData(const ChangedLog& log, uint64_t offset) {
  if (log.files.rest < 0) {
    return log.state.end;
  }
  const LogPiece piece = PieceAt(log.files, *log.log.place, offset);
  ASSIGN_OR_RETURN(const std::optional<off_t> data,
                   SeekData(piece.file, piece.position));
  return data.has_value()
             ? std::min(static_cast<uint64_t>(*data) - log.log.place->rest,
                        log.state.end)
             : log.state.end;
}

// Moves `offset` to the next data, if there is any.
absl::Status SkipHole(const ChangedLog& log, uint64_t* offset) {
  if (*offset >= log.log.place->window_size) {
    ASSIGN_OR_RETURN(const uint64_t data, FindData(log, *offset));
    *offset = data < log.state.end ? data : *offset;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWindow(const ChangedLog& log) {
  const LogPlace& place = *log.log.place;
  std::string window(std::min(log.state.end, place.window_size), '\0');
  if (::pread(log.files.first, window.data(), window.size(),
              static_cast<off_t>(place.window)) < 0) {
    return absl::ErrnoToStatus(errno, "read(log)");
  }
  return window;
}

// False if the window was dropped, and its hole reached the disk. Nothing shows
// that if it shares its block with the records.
absl::StatusOr<bool> HasWindow(const ChangedLog& log) {
  const auto window = static_cast<off_t>(log.log.place->window);
  ASSIGN_OR_RETURN(const std::optional<off_t> data,
                   SeekData(log.files.first, window));
  return data == window;
}

// Returns how many bytes of the window are on the disk, at least `synced`. It
// is written from its begin to its end, so that a sector on the disk has some
// of what was written, and then zeros. Output that has zeros itself may be cut
// too early.
uint64_t FindWindowEnd(const std::string& window, uint64_t synced) {
  for (uint64_t sector = 0; sector < window.size(); sector += kSector) {
    const uint64_t sector_end = std::min(sector + kSector, window.size());
    uint64_t kept = sector_end;
    while (kept > std::max(sector, synced) && window[kept - 1] == '\0') {
      --kept;
    }
    if (kept < sector_end) {
      return kept;
    }
  }
  return window.size();
}

// The same for the bytes after the window.
absl::StatusOr<uint64_t> FindRestEnd(const ChangedLog& log) {
  const OutputLogState& state = log.state;
  ASSIGN_OR_RETURN(
      uint64_t hole,
      FindHole(log, std::max(state.begin, log.log.place->window_size)));
  // The hole of the gap may not have reached the disk.
  if (state.gap_begin <= hole && hole <= state.gap_end) {
    ASSIGN_OR_RETURN(hole, FindHole(log, state.gap_end));
    // The whole tail is missing, so that there is no gap either.
    hole = hole == state.gap_end ? state.gap_begin : hole;
  }
  return std::min(hole, state.end);
}

// Finds what is missing in the window, and drops a window that is not whole but
// has output after it.
absl::Status CutWindow(ChangedLog* log, uint64_t synced) {
  OutputLogState& state = log->state;
  const uint64_t window_size = log->log.place->window_size;
  ASSIGN_OR_RETURN(const std::string window, ReadWindow(*log));
  ASSIGN_OR_RETURN(const bool has_window, HasWindow(*log));
  const uint64_t end = FindWindowEnd(window, has_window ? synced : 0);
  ASSIGN_OR_RETURN(const uint64_t rest, FindData(*log, window_size));
  if (rest == state.end) {
    state.end = end;
    state.gap_end = 0;
    return absl::OkStatus();
  }
  // A hole after the window that the header does not describe: see Cut().
  const bool dropped = rest > std::max(window_size, state.gap_end);
  if (end < window_size || dropped) {
    state.begin = window_size;
  }
  return absl::OkStatus();
}

absl::Status Cut(ChangedLog* log, uint64_t synced) {
  OutputLogState& state = log->state;
  if (state.begin < log->log.place->window_size) {
    RETURN_IF_ERROR(CutWindow(log, synced));
  }
  // The hole may have reached the disk before the header that describes it.
  RETURN_IF_ERROR(SkipHole(*log, &state.begin));
  if (state.gap_end != 0) {
    RETURN_IF_ERROR(SkipHole(*log, &state.gap_end));
  }
  ASSIGN_OR_RETURN(state.end, FindRestEnd(*log));
  if (state.end <= state.gap_begin) {
    state.gap_end = 0;
  }
  return absl::OkStatus();
}

// Returns how many bytes of the log the supervisor knew to be on the disk.
absl::StatusOr<uint64_t> SyncedEnd(const ChangedLog& log) {
  if (log.log.place->suffix == nullptr) {
    return 0;
  }
  uint64_t synced = 0;
  const size_t field = offsetof(ExecutionHeader, synced_ends) +
                       log.log.place->number * sizeof(synced);
  if (::pread(log.files.first, &synced, sizeof(synced),
              static_cast<off_t>(field)) != sizeof(synced)) {
    return absl::ErrnoToStatus(errno, "read(header)");
  }
  return synced;
}

}  // namespace

absl::Status ExpireOutputLog(const std::string& execution,
                             wire::Stream stream) {
  ASSIGN_OR_RETURN(const ChangedLog log, ChangedLog::Open(execution, stream));
  // Readers load `expired` first, and then ignore `begin`.
  RETURN_IF_ERROR(log.Store(offsetof(Fields, expired), 1));
  RETURN_IF_ERROR(log.Store(offsetof(Fields, begin), log.state.end));
  return PunchLog(log.files, *log.log.place, 0, log.state.end);
}

absl::Status CutOutputLog(const std::string& execution, wire::Stream stream) {
  ASSIGN_OR_RETURN(ChangedLog log, ChangedLog::Open(execution, stream));
  if (!log.state.expired) {
    ASSIGN_OR_RETURN(const uint64_t synced, SyncedEnd(log));
    RETURN_IF_ERROR(Cut(&log, synced));
    RETURN_IF_ERROR(log.Store(offsetof(Fields, begin), log.state.begin));
    RETURN_IF_ERROR(log.Store(offsetof(Fields, gap_end), log.state.gap_end));
    RETURN_IF_ERROR(log.Store(offsetof(Fields, end), log.state.end));
  }
  return log.Store(offsetof(Fields, closed), 1);
}

}  // namespace sandbox

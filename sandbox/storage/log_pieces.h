// The bytes of a log in the one or two files where execution_layout.h puts
// them.

#ifndef SANDBOX_STORAGE_LOG_PIECES_H_
#define SANDBOX_STORAGE_LOG_PIECES_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "sandbox/storage/execution_layout.h"

namespace sandbox {

// The open files of a log.
struct LogFiles {
  int first = -1;
  // With the bytes after the window: the first file too if the log has one
  // file. -1: it does not exist, or is not open.
  int rest = -1;
};

// Bytes that lie together.
struct LogPiece {
  int file;
  off_t position;
  uint64_t size;
};

// Returns the piece that begins at `offset`.
inline LogPiece PieceAt(const LogFiles& files, const LogPlace& place,
                        uint64_t offset) {
  if (offset < place.window_size) {
    return {files.first, static_cast<off_t>(place.window + offset),
            place.window_size - offset};
  }
  return {files.rest, static_cast<off_t>(place.rest + offset), UINT64_MAX};
}

// Gives the disk space of the bytes from `begin` to `end` back.
absl::Status PunchLog(const LogFiles& files, const LogPlace& place,
                      uint64_t begin, uint64_t end);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_LOG_PIECES_H_

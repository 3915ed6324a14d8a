#include "sandbox/storage/log_pieces.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

absl::Status PunchPiece(const LogPiece& piece, uint64_t size) {
  if (::fallocate(piece.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  piece.position, static_cast<off_t>(size)) != 0) {
    return absl::ErrnoToStatus(errno, "fallocate(log, punch a hole)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PunchLog(const LogFiles& files, const LogPlace& place,
                      uint64_t begin, uint64_t end) {
  if (begin < std::min(end, place.window_size)) {
    RETURN_IF_ERROR(PunchPiece(PieceAt(files, place, begin),
                               std::min(end, place.window_size) - begin));
  }
  if (files.rest < 0 || end <= place.window_size) {
    return absl::OkStatus();
  }
  // From its begin, which is a hole already: a block whose other bytes are kept
  // would stay.
  const uint64_t from = begin <= place.window_size ? 0 : begin;
  return PunchPiece({files.rest, static_cast<off_t>(place.rest + from), 0},
                    end - from);
}

}  // namespace sandbox

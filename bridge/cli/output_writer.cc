#include "bridge/cli/output_writer.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace bridge {

absl::Status WriteAll(int fd, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t size = ::write(fd, data.data(), data.size());
    if (size >= 0) {
      data.remove_prefix(size);
    } else if (errno == EAGAIN) {
      pollfd item = {fd, POLLOUT, 0};
      ::poll(&item, 1, -1);
    } else if (errno == EPIPE) {
      return absl::AbortedError("nobody reads the output");
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(
          errno, fd == STDOUT_FILENO ? "standard output" : "standard error");
    }
  }
  return absl::OkStatus();
}

absl::Status WriteChunk(const corral::v1::Chunk& chunk) {
  return WriteAll(
      chunk.stream() == corral::v1::STDERR ? STDERR_FILENO : STDOUT_FILENO,
      chunk.data());
}

absl::Status WriteGap(const corral::v1::Gap& gap) {
  // The terminal of one that is attached is raw.
  const char* const end = gap.stream() == corral::v1::TERMINAL ? "\r\n" : "\n";
  return WriteAll(STDERR_FILENO,
                  absl::StrCat("corral: bytes ", gap.begin_offset(), " to ",
                               gap.end_offset(), " of ",
                               absl::AsciiStrToLower(Stream_Name(gap.stream())),
                               " are no longer kept", end));
}

}  // namespace bridge

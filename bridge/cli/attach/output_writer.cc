#include "bridge/cli/attach/output_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "bridge/cli/attach/nonblocking.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr int kNever = -1;

// `cancelled` is an eventfd, or kNever.
absl::Status WaitUntilWritable(int fd, int cancelled) {
  pollfd items[] = {{fd, POLLOUT, 0}, {cancelled, POLLIN, 0}};
  ::poll(items, 2, -1);
  return items[1].revents == 0 ? absl::OkStatus()
                               : absl::CancelledError("cancelled");
}

// `name` is that of the descriptor, for the error.
absl::Status WriteUntil(int cancelled, int fd, absl::string_view name,
                        absl::string_view data) {
  while (!data.empty()) {
    const ssize_t size = ::write(fd, data.data(), data.size());
    if (size >= 0) {
      data.remove_prefix(size);
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(WaitUntilWritable(fd, cancelled));
    } else if (errno == EPIPE) {
      return absl::AbortedError("nobody reads the output");
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, name);
    }
  }
  return absl::OkStatus();
}

absl::string_view NameOf(int fd) {
  return fd == STDOUT_FILENO ? "standard output" : "standard error";
}

}  // namespace

absl::Status WriteAll(int fd, absl::string_view data) {
  return WriteUntil(kNever, fd, NameOf(fd), data);
}

void Say(absl::string_view line) {
  WriteAll(STDERR_FILENO, absl::StrCat("corral: ", line, "\n")).IgnoreError();
}

OutputWriter::OutputWriter()
    : cancelled_(::eventfd(0, EFD_CLOEXEC)),
      output_(ReopenNonblocking(STDOUT_FILENO, O_WRONLY)),
      error_(ReopenNonblocking(STDERR_FILENO, O_WRONLY)) {}

absl::Status OutputWriter::Write(const corral::v1::OutputEvent& event,
                                 absl::Time now) {
  if (event.has_gap()) {
    gaps_.Add(event.gap());
  }
  RETURN_IF_ERROR(WriteError(gaps_.Take(now)));
  return event.chunk().stream() == corral::v1::STDERR
             ? WriteError(event.chunk().data())
             : WriteOutput(event.chunk().data());
}

absl::Status OutputWriter::WriteOutput(absl::string_view data) {
  return WriteUntil(cancelled_.get(),
                    output_.valid() ? output_.get() : STDOUT_FILENO,
                    NameOf(STDOUT_FILENO), data);
}

absl::Status OutputWriter::WriteError(absl::string_view data) {
  return WriteUntil(cancelled_.get(),
                    error_.valid() ? error_.get() : STDERR_FILENO,
                    NameOf(STDERR_FILENO), data);
}

absl::Status OutputWriter::Finish() { return WriteError(gaps_.TakeAll()); }

void OutputWriter::Cancel() {
  CHECK(::eventfd_write(cancelled_.get(), 1) == 0);
}

}  // namespace bridge

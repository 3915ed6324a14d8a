#include "sandbox/storage/terminal_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sandbox {
namespace {

constexpr uint64_t kMaxDoublings = 20;
// The file in the directory of an earlier supervisor.
constexpr char kInDirectory[] = "/terminal.times";

}  // namespace

void TerminalTimesWriter::Append(const TerminalTime& time) {
  if (stopped_) {
    return;
  }
  if (!file_.valid()) {
    // The deletion of an execution of the same name may have left one.
    file_.Reset(::open(path_.c_str(),
                       O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
                       0600));
  }
  // After an incomplete record, later ones would stand at wrong places.
  stopped_ = !file_.valid() ||
             ::write(file_.get(), &time, sizeof(time)) != sizeof(time);
  ++records_;
}

void TerminalTimesWriter::OnOutput(uint64_t end, uint64_t now) {
  if (end <= end_) {
    return;
  }
  const uint64_t interval = kInterval
                            << std::min(records_ / kBatch, kMaxDoublings);
  if (end_ == 0 || now - last_ >= interval) {
    Append({end_, now - begin_, 0, 0});
    last_ = now;
  }
  end_ = end;
}

void TerminalTimesWriter::OnResize(uint32_t rows, uint32_t columns,
                                   uint64_t now) {
  Append({end_, now - begin_, rows, columns});
}

void TerminalTimesWriter::Expire() {
  stopped_ = true;
  file_.Reset();
  ::unlink(path_.c_str());
}

absl::StatusOr<std::vector<TerminalTime>> ReadTerminalTimes(
    const std::string& execution, uint64_t first, size_t count) {
  const std::string path = absl::StrCat(execution, kTerminalTimes);
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) {
    file.Reset(::open(absl::StrCat(execution, kInDirectory).c_str(),
                      O_RDONLY | O_CLOEXEC));
    // The execution has a file.
    errno = errno == ENOTDIR ? ENOENT : errno;
  }
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  std::vector<TerminalTime> times(count);
  const ssize_t got =
      ::pread(file.get(), times.data(), count * sizeof(TerminalTime),
              static_cast<off_t>(first * sizeof(TerminalTime)));
  if (got < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("read ", path));
  }
  times.resize(got / sizeof(TerminalTime));
  return times;
}

}  // namespace sandbox

#include "bridge/acp/agent/output_queue.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace bridge {
namespace {

constexpr int kMaxWrites = 64;  // of PIPE_BUF bytes each
// Short lines are joined up to this size, to save system calls.
constexpr size_t kJoinedBytes = 64 << 10;

// Returns true if a pipe accepts PIPE_BUF bytes without blocking; see pipe(7).
bool IsWritable(int fd) {
  pollfd poll = {fd, POLLOUT, 0};
  return ::poll(&poll, 1, 0) == 1;
}

}  // namespace

void OutputQueue::Push(std::string bytes) {
  if (bytes.empty()) {
    return;
  }
  size_ += bytes.size();
  if (!pieces_.empty() &&
      pieces_.back().size() + bytes.size() <= kJoinedBytes) {
    pieces_.back() += bytes;
  } else {
    pieces_.push_back(std::move(bytes));
  }
}

absl::Status OutputQueue::WriteTo(int fd) {
  for (int i = 0; i < kMaxWrites && !pieces_.empty() && IsWritable(fd); ++i) {
    const std::string& piece = pieces_.front();
    const size_t wanted = std::min<size_t>(piece.size() - written_, PIPE_BUF);
    const ssize_t taken = ::write(fd, piece.data() + written_, wanted);
    if (taken < 0) {
      if (errno == EINTR || errno == EAGAIN) {
        return absl::OkStatus();
      }
      return absl::ErrnoToStatus(errno, "write");
    }
    written_ += taken;
    size_ -= taken;
    if (written_ == piece.size()) {
      pieces_.pop_front();
      written_ = 0;
    }
  }
  return absl::OkStatus();
}

void OutputQueue::Clear() {
  pieces_.clear();
  written_ = 0;
  size_ = 0;
}

}  // namespace bridge

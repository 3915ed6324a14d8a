#include "bridge/mcp/stdio_loop.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"

namespace bridge {
namespace {

constexpr size_t kReadSize = 64 << 10;
// A longer line is cut to this size. What is left is not valid JSON, so the
// message is refused.
constexpr size_t kShown = 100;

}  // namespace

sigset_t BlockEndingSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::sigaddset(&signals, signal);
  }
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return signals;
}

absl::StatusOr<StdioLoop> StdioLoop::Create(int input) {
  const sigset_t signals = BlockEndingSignals();
  sandbox::UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(errno, "signalfd");
  }
  return StdioLoop(input, std::move(fd));
}

StdioLoop::End StdioLoop::Run(
    const std::function<void(absl::string_view line)>& receive) {
  while (true) {
    pollfd items[] = {{input_, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (::poll(items, 2, -1) < 0) {
      continue;  // interrupted
    }
    if (items[1].revents != 0) {
      return End::kSignal;
    }
    if (!Read(receive)) {
      if (!buffer_.empty()) {
        receive(buffer_);
      }
      return End::kEndOfInput;
    }
  }
}

bool StdioLoop::Read(const std::function<void(absl::string_view)>& receive) {
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadSize);
  const ssize_t got = ::read(input_, buffer_.data() + before, kReadSize);
  buffer_.resize(before + (got > 0 ? got : 0));
  if (got <= 0) {
    return got < 0 && errno == EINTR;
  }
  size_t begin = 0;
  // The earlier content has no newline.
  for (size_t end = buffer_.find('\n', before); end != buffer_.npos;
       end = buffer_.find('\n', begin)) {
    if (!skipping_) {
      receive(absl::string_view(buffer_).substr(begin, end - begin));
    }
    skipping_ = false;
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  if (buffer_.size() > kMaxLine) {
    receive(absl::string_view(buffer_).substr(0, kShown));
    skipping_ = true;
  }
  if (skipping_) {
    buffer_.clear();
  }
  return true;
}

}  // namespace bridge

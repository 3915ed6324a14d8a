#include "sandbox/egress/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace egress {
namespace {

constexpr size_t kKept = 8;

}  // namespace

Pipe PipePool::Take() {
  if (!pipes_.empty()) {
    Pipe pipe = std::move(pipes_.back());
    pipes_.pop_back();
    return pipe;
  }
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
    return {};
  }
  return {sandbox::UniqueFd(fds[0]), sandbox::UniqueFd(fds[1])};
}

void PipePool::Return(Pipe pipe) {
  if (pipes_.size() < kKept) {
    pipes_.push_back(std::move(pipe));
  }
}

}  // namespace egress

// Checks that an event loop has forgotten the descriptors that were closed.

#ifndef TESTS_CLOSED_WATCHES_H_
#define TESTS_CLOSED_WATCHES_H_

#include <sys/eventfd.h>

#include <cstdint>
#include <vector>

#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

// Ends the test program if `loop` still watches the number of a descriptor that
// was closed: the next descriptors get these numbers, and none can be watched
// twice. Called on the loop's thread.
inline void ExpectNoClosedWatch(sandbox::EventLoop* loop) {
  std::vector<sandbox::UniqueFd> next;
  for (int i = 0; i < 32; ++i) {
    next.emplace_back(::eventfd(0, EFD_CLOEXEC));
    loop->Watch(next.back().get(), 0, [](uint32_t) {});
  }
  for (const sandbox::UniqueFd& fd : next) {
    loop->Unwatch(fd.get());
  }
}

}  // namespace tests

#endif  // TESTS_CLOSED_WATCHES_H_

#include "sandbox/kernel/visit.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>

#include "sandbox/kernel/namespaces.h"

namespace sandbox {
namespace {

// Pages that are not used cost nothing.
constexpr size_t kStack = size_t{64} << 10;

struct Journey {
  int pidfd;
  absl::FunctionRef<absl::Status()> work;
  absl::Status result;
};

int EnterAndWork(void* argument) {
  Journey& journey = *static_cast<Journey*>(argument);
  journey.result = ::setns(journey.pidfd, kAllButPids) == 0
                       ? journey.work()
                       : absl::ErrnoToStatus(errno, "setns");
  return 0;
}

}  // namespace

absl::Status Visit(int pidfd, absl::FunctionRef<absl::Status()> work) {
  Journey journey = {pidfd, work,
                     absl::AbortedError("the child in the sandbox was killed")};
  const std::unique_ptr<char[]> stack(new char[kStack]);
  const pid_t child = ::clone(EnterAndWork, stack.get() + kStack,
                              CLONE_VM | CLONE_VFORK | SIGCHLD, &journey);
  if (child < 0) {
    return absl::ErrnoToStatus(errno, "clone");
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return std::move(journey.result);
}

}  // namespace sandbox

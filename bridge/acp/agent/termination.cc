#include "bridge/acp/agent/termination.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "absl/status/status.h"

namespace bridge {
namespace {

// Global, since a handler gets only the number of its signal.
volatile sig_atomic_t termination_fd = -1;

void OnTermination(int /*signal*/) {
  const int saved_errno = errno;
  const uint64_t one = 1;
  (void)!::write(termination_fd, &one, sizeof one);
  errno = saved_errno;
}

void Ignore(int /*signal*/) {}

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

absl::StatusOr<sandbox::UniqueFd> CatchTermination() {
  sandbox::UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) {
    return absl::ErrnoToStatus(errno, "eventfd");
  }
  termination_fd = event.get();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Handle(signal, OnTermination);
  }
  // Not SIG_IGN, which the agent would inherit.
  Handle(SIGPIPE, Ignore);
  return event;
}

}  // namespace bridge

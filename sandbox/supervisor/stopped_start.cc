#include "sandbox/supervisor/stopped_start.h"

#include <signal.h>
#include <sys/wait.h>

namespace sandbox {
namespace {

// Bounds one call: a command can make many children that stop.
constexpr int kMaxChildren = 64;

// Returns a child that has stopped since the last call, or 0.
pid_t StoppedChild() {
  siginfo_t info = {};
  const int result = ::waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG);
  return result == 0 ? info.si_pid : 0;
}

}  // namespace

void StoppedStart::Free() {
  bool found = false;
  for (int i = 0; i < kMaxChildren; ++i) {
    const pid_t child = StoppedChild();
    if (child == 0) {
      break;
    }
    if (!is_known_(child)) {
      found = true;
      // A child keeps its pid until this thread reaps it.
      ::kill(child, found_ < kPatience ? SIGCONT : SIGKILL);
    }
  }
  found_ += found ? 1 : 0;
}

}  // namespace sandbox

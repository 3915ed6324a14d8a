// The signals of a process that becomes another program.

#ifndef SANDBOX_BASE_RESET_SIGNALS_H_
#define SANDBOX_BASE_RESET_SIGNALS_H_

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sandbox {

// Gives every signal its default action, and blocks none: signals that are
// ignored or blocked stay so across execve(2). Makes system calls only, so that
// a child may call it after fork(2).
inline void ResetSignals() {
  // The kernel's struct: the C library refuses signals that it uses itself.
  struct {
    void (*handler)(int) = SIG_DFL;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    uint64_t mask = 0;
  } const action;
  for (int number = 1; number < NSIG; ++number) {
    ::syscall(SYS_rt_sigaction, number, &action, nullptr, sizeof(action.mask));
  }
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &action.mask, nullptr,
            sizeof(action.mask));
}

}  // namespace sandbox

#endif  // SANDBOX_BASE_RESET_SIGNALS_H_

// Ignores a signal for a while, as the process that started this one may have.

#ifndef TESTS_IGNORED_SIGNAL_H_
#define TESTS_IGNORED_SIGNAL_H_

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tests {

// The first signal that the C library keeps for itself.
inline constexpr int kLibrarySignal = 32;

class IgnoredSignal {
 public:
  explicit IgnoredSignal(int number) : number_(number) {
    const Action ignore;
    ::syscall(SYS_rt_sigaction, number_, &ignore, &before_,
              sizeof(ignore.mask));
  }
  ~IgnoredSignal() {
    ::syscall(SYS_rt_sigaction, number_, &before_, nullptr,
              sizeof(before_.mask));
  }
  IgnoredSignal(const IgnoredSignal&) = delete;
  IgnoredSignal& operator=(const IgnoredSignal&) = delete;

 private:
  // The kernel's struct: the C library refuses kLibrarySignal.
  struct Action {
    void (*handler)(int) = SIG_IGN;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    uint64_t mask = 0;
  };

  const int number_;
  Action before_;
};

}  // namespace tests

#endif  // TESTS_IGNORED_SIGNAL_H_

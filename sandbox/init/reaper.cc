// PID 1 of a sandbox. Orphans become its children; ignoring SIGCHLD makes the
// kernel reap them at once, so that no zombie counts against pids.max. It has
// no capability, and no signal from inside reaches it: the kernel drops signals
// for which PID 1 has no handler.

#include <asm/unistd.h>
#include <linux/prctl.h>
#include <linux/signal.h>

#include "sandbox/init/syscall.h"

namespace sandbox::init {
namespace {

// The kernel's struct; <linux/signal.h> declares that of the C library.
struct KernelSigaction {
  void* action;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

}  // namespace

int RunInit() {
  Syscall(__NR_prctl, PR_SET_DUMPABLE, 0);
  KernelSigaction ignore = {reinterpret_cast<void*>(1), 0, nullptr, 0};
  if (Syscall(__NR_rt_sigaction, SIGCHLD, Address(&ignore), 0,
              sizeof(ignore.mask)) != 0) {
    return 1;
  }
  for (;;) {
    Syscall(__NR_pause);
  }
}

}  // namespace sandbox::init

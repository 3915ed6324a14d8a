// PID 1 of a sandbox. Orphans become its children; ignoring SIGCHLD makes the
// kernel reap them at once, so that no zombie counts against pids.max. It has
// no capability, and no signal from inside reaches it: the kernel drops signals
// for which PID 1 has no handler. It gives up all system calls that it does not
// need.

#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/init/exchange.h"
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

// Allows read and no other call.
const sock_filter kOnlyRead[] = {
    {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch)},
    {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, AUDIT_ARCH_X86_64},
    {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
    {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_read},
    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS}};

// The error of a kernel that has no memory for another compiled filter.
constexpr long kNoFilterMemory = -524;

// Returns a negative errno if the kernel refuses it.
long GiveUpSystemCalls() {
  // Leaves read, write and exit and costs the kernel nothing, unlike a filter.
  if (Syscall(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0) {
    return 0;
  }
  // In a container, this process already has a filter of the host, and the
  // kernel then refuses strict mode.
  sock_fprog program = {sizeof(kOnlyRead) / sizeof(kOnlyRead[0]),
                        const_cast<sock_filter*>(kOnlyRead)};
  return Syscall(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                 Address(&program));
}

}  // namespace

int RunInit() {
  Syscall(__NR_prctl, PR_SET_DUMPABLE, 0);
  KernelSigaction ignore = {reinterpret_cast<void*>(1), 0, nullptr, 0};
  if (Syscall(__NR_rt_sigaction, SIGCHLD, Address(&ignore), 0,
              sizeof(ignore.mask)) != 0) {
    return 1;
  }
  // An eventfd to which nobody writes: a read of it waits for ever.
  const long never = Syscall(__NR_eventfd2, 0, 0);
  if (never < 0) {
    return 1;
  }
  if (const long error = GiveUpSystemCalls(); error != 0) {
    return error == kNoFilterMemory ? kInitLacksFilterMemory : 1;
  }
  for (;;) {
    uint64_t count;
    Syscall(__NR_read, never, Address(&count), sizeof(count));
  }
}

}  // namespace sandbox::init

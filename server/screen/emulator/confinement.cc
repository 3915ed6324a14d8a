#include "server/screen/emulator/confinement.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <iterator>
#include <vector>

namespace screen {
namespace {

// All of the address space. The largest screen with its scrollback takes about
// 60 MiB.
constexpr rlim_t kMemory = 192 << 20;
constexpr unsigned kBadCall = SECCOMP_RET_KILL_PROCESS;

constexpr unsigned kAllowed[] = {
    SYS_read,         SYS_write,  SYS_exit_group,      SYS_exit,
    SYS_brk,          SYS_munmap, SYS_mremap,          SYS_madvise,
    SYS_rt_sigreturn, SYS_futex,  SYS_restart_syscall,
};
// Allowed without PROT_EXEC.
constexpr unsigned kMappings[] = {SYS_mmap, SYS_mprotect};

constexpr size_t kProtectionArgument =
    offsetof(seccomp_data, args) + 2 * sizeof(uint64_t);

bool Limit(int resource, rlim_t value) {
  const rlimit limit = {value, value};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

std::vector<sock_filter> MakeFilter() {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, kBadCall),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const unsigned call : kAllowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  for (const unsigned call : kMappings) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtectionArgument));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, kBadCall));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kBadCall));
  return filter;
}

}  // namespace

bool Confine() {
  if (!Limit(RLIMIT_AS, kMemory) || !Limit(RLIMIT_CORE, 0) ||
      !Limit(RLIMIT_FSIZE, 0) || !Limit(RLIMIT_NPROC, 0) ||
      !Limit(RLIMIT_NOFILE, 0)) {
    return false;
  }
  std::vector<sock_filter> filter = MakeFilter();
  const sock_fprog program = {static_cast<unsigned short>(filter.size()),
                              filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace screen

#include "sandbox/egress/confinement.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "sandbox/base/filter_error.h"

namespace egress {
namespace {

// The limit of the whole address space. 2048 clients that send the longest
// heads take 150 MiB.
constexpr rlim_t kMemory = 512 << 20;
// Each connection takes two, and two more while a receiver is slow.
constexpr rlim_t kDescriptors = 16384;
constexpr unsigned kBadCall = SECCOMP_RET_KILL_PROCESS;

constexpr unsigned kAllowed[] = {
    SYS_read,       SYS_write,         SYS_readv,
    SYS_writev,     SYS_close,         SYS_recvfrom,
    SYS_recvmsg,    SYS_sendto,        SYS_sendmsg,
    SYS_connect,    SYS_accept4,       SYS_shutdown,
    SYS_getsockopt, SYS_getsockname,   SYS_getpeername,
    SYS_epoll_ctl,  SYS_epoll_wait,    SYS_epoll_pwait,
    SYS_splice,     SYS_pipe2,         SYS_fcntl,
    SYS_brk,        SYS_munmap,        SYS_mremap,
    SYS_madvise,    SYS_futex,         SYS_getrandom,
    SYS_getpid,     SYS_clock_gettime, SYS_gettimeofday,
    SYS_nanosleep,  SYS_rt_sigreturn,  SYS_restart_syscall,
    SYS_exit,       SYS_exit_group,
};
// Libraries look for files of settings and do without them.
constexpr unsigned kAbsentFiles[] = {SYS_open,       SYS_openat, SYS_stat,
                                     SYS_newfstatat, SYS_access, SYS_readlink};
// Allowed without PROT_EXEC.
constexpr unsigned kMappings[] = {SYS_mmap, SYS_mprotect};

constexpr unsigned Argument(unsigned index) {
  return offsetof(seccomp_data, args) + index * sizeof(uint64_t);
}

sock_filter Load(unsigned offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}
sock_filter Return(unsigned action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}
// Skips instructions: `equal` of them, or `other`.
sock_filter IfEqual(unsigned value, uint8_t equal, uint8_t other) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, equal, other);
}

void Add(std::vector<sock_filter>& filter,
         const std::vector<sock_filter>& instructions) {
  filter.insert(filter.end(), instructions.begin(), instructions.end());
}

void AddCall(std::vector<sock_filter>& filter, unsigned call, unsigned action) {
  Add(filter, {IfEqual(call, 0, 1), Return(action)});
}

// Only TCP and UDP of IPv4 and IPv6.
void AddSocket(std::vector<sock_filter>& filter) {
  constexpr unsigned kTypes = 0xf;
  Add(filter,
      {IfEqual(SYS_socket, 0, 9), Load(Argument(0)), IfEqual(AF_INET, 1, 0),
       IfEqual(AF_INET6, 0, 5), Load(Argument(1)),
       BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kTypes), IfEqual(SOCK_STREAM, 1, 0),
       IfEqual(SOCK_DGRAM, 0, 1), Return(SECCOMP_RET_ALLOW), Return(kBadCall)});
}

// Allows what this program sets, and nothing that loads a filter of sockets.
void AddSocketOptions(std::vector<sock_filter>& filter) {
  Add(filter, {IfEqual(SYS_setsockopt, 0, 9), Load(Argument(1)),
               IfEqual(SOL_SOCKET, 0, 2), Load(Argument(2)),
               IfEqual(SO_LINGER, 3, 4), IfEqual(IPPROTO_TCP, 0, 3),
               Load(Argument(2)), IfEqual(TCP_NODELAY, 0, 1),
               Return(SECCOMP_RET_ALLOW), Return(SECCOMP_RET_ERRNO | EPERM)});
}

std::vector<sock_filter> MakeFilter() {
  std::vector<sock_filter> filter = {
      Load(offsetof(seccomp_data, arch)),
      IfEqual(AUDIT_ARCH_X86_64, 1, 0),
      Return(kBadCall),
      Load(offsetof(seccomp_data, nr)),
  };
  for (const unsigned call : kAllowed) {
    AddCall(filter, call, SECCOMP_RET_ALLOW);
  }
  for (const unsigned call : kAbsentFiles) {
    AddCall(filter, call, SECCOMP_RET_ERRNO | ENOENT);
  }
  for (const unsigned call : kMappings) {
    Add(filter, {IfEqual(call, 0, 4), Load(Argument(2)),
                 BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
                 Return(SECCOMP_RET_ALLOW), Return(kBadCall)});
  }
  AddSocket(filter);
  AddSocketOptions(filter);
  filter.push_back(Return(kBadCall));
  return filter;
}

bool Limit(int resource, rlim_t value) {
  // Stays 0, the least, if it cannot be read.
  rlimit limit = {};
  const auto which = static_cast<__rlimit_resource>(resource);
  ::getrlimit(which, &limit);
  limit.rlim_max = std::min(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(which, &limit) == 0;
}

}  // namespace

absl::Status Confine() {
  if (!Limit(RLIMIT_AS, kMemory) || !Limit(RLIMIT_CORE, 0) ||
      !Limit(RLIMIT_FSIZE, 0) || !Limit(RLIMIT_NPROC, 0) ||
      !Limit(RLIMIT_NOFILE, kDescriptors)) {
    return absl::ErrnoToStatus(errno, "setrlimit");
  }
  std::vector<sock_filter> filter = MakeFilter();
  const sock_fprog program = {static_cast<unsigned short>(filter.size()),
                              filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    return sandbox::FilterError(errno, "confine");
  }
  return absl::OkStatus();
}

}  // namespace egress

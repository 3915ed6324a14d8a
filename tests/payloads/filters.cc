// Loads filters and asks the kernel for things that several tenants share.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

constexpr long kHigh = 0x100000000L;

sock_filter kAllowCalls = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
sock_filter kDropPackets = {BPF_RET | BPF_K, 0, 0, 0};

// The number of filters of this process, as the kernel reports it.
int Filters() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  int count = -1;
  while (status != nullptr && std::fgets(line, sizeof(line), status)) {
    std::sscanf(line, "Seccomp_filters: %d", &count);
  }
  if (status != nullptr) {
    std::fclose(status);
  }
  return count;
}

// One filter at a time: many of them can stop a kernel.
int SystemCallFilters(int, char**) {
  sock_fprog program = {1, &kAllowCalls};
  const int before = Filters();
  Report("no_new_privs", ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  Report("seccomp",
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
  Report("seccomp, high bits",
         ::syscall(SYS_seccomp, kHigh | SECCOMP_SET_MODE_FILTER, 0, &program));
  Report("seccomp, all threads",
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_TSYNC, &program));
  Report("seccomp, with a listener",
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
  Report("prctl", ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
  Report("prctl, high bits", ::syscall(SYS_prctl, kHigh | PR_SET_SECCOMP,
                                       SECCOMP_MODE_FILTER, &program));
  std::printf("new filters: %d\n", Filters() - before);
  return 0;
}

int SocketFilters(int, char**) {
  sock_fprog program = {1, &kDropPackets};
  int pair[2];
  ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair);
  const int udp = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int on = 1;
  ::setsockopt(udp, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
  Report("filter", ::setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &program,
                                sizeof(program)));
  Report("filter, high bits",
         ::syscall(SYS_setsockopt, pair[1], kHigh | SOL_SOCKET,
                   kHigh | SO_ATTACH_FILTER, &program, sizeof(program)));
  Report("reuseport", ::setsockopt(udp, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
                                   &program, sizeof(program)));
  Report("bpf",
         ::setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_BPF, &on, sizeof(on)));
  Report(
      "reuseport bpf",
      ::setsockopt(udp, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &on, sizeof(on)));
  char byte = 'x';
  ::send(pair[0], &byte, 1, 0);
  Report("received", ::recv(pair[1], &byte, 1, 0));
  Report("other option",
         ::setsockopt(udp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
  return 0;
}

int SharedPages(int, char**) {
  constexpr int kSetMemoryMerge = 67;  // PR_SET_MEMORY_MERGE
  constexpr size_t kHugePage = size_t{2} << 20;
  Report("merge all", ::prctl(kSetMemoryMerge, 1, 0, 0, 0));
  void* memory = ::mmap(nullptr, kHugePage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Report("merge", ::madvise(memory, kHugePage, MADV_MERGEABLE));
  Report("plain advice", ::madvise(memory, kHugePage, MADV_HUGEPAGE));
  const void* huge = ::mmap(nullptr, kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  Report("huge mmap", huge == MAP_FAILED ? -1 : 0);
  Report("huge memfd", ::memfd_create("huge", MFD_HUGETLB));
  Report("huge segment",
         ::shmget(IPC_PRIVATE, kHugePage, IPC_CREAT | SHM_HUGETLB | 0600));
  return 0;
}

}  // namespace

const Entry kFilters[] = {{"system-call-filters", SystemCallFilters},
                          {"socket-filters", SocketFilters},
                          {"shared-pages", SharedPages},
                          {nullptr, nullptr}};

}  // namespace payloads

// What the system call filter and the lack of capabilities must refuse.

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

struct Call {
  const char* name;
  long number;
};

// Arguments that no call takes: where one is not refused, it fails with another
// error and does no harm.
long Probe(long number) {
  return ::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
}

int Calls(const Call* calls, size_t count, int expected) {
  for (size_t i = 0; i < count; ++i) {
    const long result = Probe(calls[i].number);
    if (result != -1 || errno != expected) {
      Tell(calls[i].name, result);
    }
  }
  std::printf("%zu calls\n", count);
  return 0;
}

#define CALL(name) \
  { #name, SYS_##name }

int Refused(int, char**) {
  const Call calls[] = {
      CALL(_sysctl),
      CALL(acct),
      CALL(add_key),
      CALL(adjtimex),
      CALL(bpf),
      CALL(chroot),
      CALL(clock_settime),
      CALL(delete_module),
      CALL(fanotify_init),
      CALL(finit_module),
      CALL(fsconfig),
      CALL(fsmount),
      CALL(fsopen),
      CALL(fspick),
      CALL(init_module),
      CALL(ioperm),
      CALL(iopl),
      CALL(kcmp),
      CALL(kexec_file_load),
      CALL(kexec_load),
      CALL(keyctl),
      CALL(lookup_dcookie),
      CALL(mbind),
      CALL(migrate_pages),
      CALL(modify_ldt),
      CALL(mount),
      CALL(mount_setattr),
      CALL(move_mount),
      CALL(move_pages),
      CALL(name_to_handle_at),
      CALL(nfsservctl),
      CALL(open_by_handle_at),
      CALL(open_tree),
      CALL(perf_event_open),
      CALL(pidfd_getfd),
      CALL(pivot_root),
      CALL(process_madvise),
      CALL(quotactl),
      CALL(quotactl_fd),
      CALL(reboot),
      CALL(request_key),
      CALL(set_mempolicy),
      CALL(setdomainname),
      CALL(sethostname),
      CALL(setns),
      CALL(settimeofday),
      CALL(swapoff),
      CALL(swapon),
      CALL(syslog),
      CALL(umount2),
      CALL(unshare),
      CALL(uselib),
      CALL(userfaultfd),
      CALL(ustat),
      CALL(vhangup),
  };
  return Calls(calls, sizeof(calls) / sizeof(calls[0]), EPERM);
}

int Absent(int, char**) {
  const Call calls[] = {
      CALL(clone3),
      CALL(io_uring_enter),
      CALL(io_uring_register),
      CALL(io_uring_setup),
      CALL(openat2),
      {"fchmodat2", 452},
      {"statmount", 457},
      {"lsm_set_self_attr", 460},
      {"open_tree_attr", 467},
      {"511", 511},
      {"512", 512},
      {"100000", 100000},
  };
  return Calls(calls, sizeof(calls) / sizeof(calls[0]), ENOSYS);
}

long Int80(long number, long a, long b, long c) {
  long result;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(a), "c"(b), "d"(c)
               : "memory", "r8", "r9", "r10", "r11");
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

// The numbers are i386's: on x86-64 they mean other calls.
int Foreign(int, char**) {
  constexpr long kX32 = 0x40000000;
  Tell("i386 getpid", Int80(20, 0, 0, 0));
  Tell("i386 open", Int80(5, 0, 0, 0));
  Tell("i386 mount", Int80(21, 0, 0, 0));
  Tell("i386 socketcall", Int80(102, 1, 0, 0));
  Tell("i386 socket(AF_VSOCK)", Int80(359, 40, 1, 0));
  Tell("i386 ptrace", Int80(26, 0, 0, 0));
  Tell("x32 getpid", ::syscall(kX32 | SYS_getpid));
  Tell("x32 ptrace", ::syscall(kX32 | 521, 0, 0, 0, 0));
  Tell("x32 ioctl", ::syscall(kX32 | 514, 0, 0, 0));
  return 0;
}

int Namespaces(int, char**) {
  const Call flags[] = {
      {"time", 0x80},
      {"mount", CLONE_NEWNS},
      {"cgroup", 0x02000000},
      {"uts", CLONE_NEWUTS},
      {"ipc", CLONE_NEWIPC},
      {"user", CLONE_NEWUSER},
      {"pid", CLONE_NEWPID},
      {"net", CLONE_NEWNET},
      {"user, mount and net", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET},
  };
  for (const Call& flag : flags) {
    char text[64];
    std::snprintf(text, sizeof(text), "unshare %s", flag.name);
    Tell(text, ::syscall(SYS_unshare, flag.number));
    // The time namespace's bit is part of clone's exit signal.
    const long child = ::syscall(SYS_clone, flag.number | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      ::_exit(0);
    }
    std::snprintf(text, sizeof(text), "clone %s", flag.name);
    Tell(text, child);
  }
  return 0;
}

int Identity(int, char**) {
  Tell("setuid(0)", ::syscall(SYS_setuid, 0));
  Tell("setuid(1)", ::syscall(SYS_setuid, 1));
  Tell("setresuid(-1,0,-1)", ::syscall(SYS_setresuid, -1, 0, -1));
  Tell("setresgid(0,0,0)", ::syscall(SYS_setresgid, 0, 0, 0));
  const gid_t group = 0;
  Tell("setgroups", ::syscall(SYS_setgroups, 1, &group));
  Tell("setfsuid(0)", ::syscall(SYS_setfsuid, 0));
  Tell("setfsuid(again)", ::syscall(SYS_setfsuid, 0));
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {
      {1U << CAP_SYS_ADMIN, 1U << CAP_SYS_ADMIN, 0}, {}};
  Tell("capset", ::syscall(SYS_capset, &header, data));
  Tell("ambient",
       ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETUID, 0, 0));
  Tell("securebits", ::prctl(PR_SET_SECUREBITS, 1, 0, 0, 0));
  Tell("no_new_privs off", ::prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  Tell("PR_SET_MM", ::prctl(PR_SET_MM, PR_SET_MM_BRK, 4096, 0, 0));
  Tell("seccomp off", ::prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
  return 0;
}

int Priorities(int, char**) {
  sched_param parameter = {};
  parameter.sched_priority = 1;
  Tell("SCHED_FIFO", ::sched_setscheduler(0, SCHED_FIFO, &parameter));
  Tell("nice -10", ::setpriority(PRIO_PROCESS, 0, -10));
  Tell("ioprio RT", ::syscall(SYS_ioprio_set, 1, 0, 1 << 13));
  const rlimit raised = {1 << 20, 1 << 20};
  Tell("raise NOFILE", ::setrlimit(RLIMIT_NOFILE, &raised));
  const rlimit locked = {1 << 30, 1 << 30};
  Tell("raise MEMLOCK", ::setrlimit(RLIMIT_MEMLOCK, &locked));
  const rlimit core = {1 << 20, 1 << 20};
  Tell("raise CORE", ::setrlimit(RLIMIT_CORE, &core));
  return 0;
}

}  // namespace

const Entry kSyscalls[] = {{"refused", Refused},   {"absent", Absent},
                           {"foreign", Foreign},   {"namespaces", Namespaces},
                           {"identity", Identity}, {"priorities", Priorities},
                           {nullptr, nullptr}};

}  // namespace payloads

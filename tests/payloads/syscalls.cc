// System calls that the filter and the lack of capabilities must refuse.

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
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

// Arguments that no call accepts: a call that is not refused fails with another
// error and does no harm.
long Probe(long number) {
  return ::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
}

int Calls(const Call* calls, size_t count, int expected) {
  for (size_t i = 0; i < count; ++i) {
    const long result = Probe(calls[i].number);
    if (result != -1 || errno != expected) {
      Report(calls[i].name, result);
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
      CALL(io_cancel),
      CALL(io_destroy),
      CALL(io_getevents),
      CALL(io_pgetevents),
      CALL(io_setup),
      CALL(io_submit),
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

// i386's numbers, which mean other calls on x86-64.
int I386(int, char**) {
  Report("i386 getpid", Int80(20, 0, 0, 0));
  Report("i386 open", Int80(5, 0, 0, 0));
  Report("i386 mount", Int80(21, 0, 0, 0));
  Report("i386 socketcall", Int80(102, 1, 0, 0));
  Report("i386 socket(AF_VSOCK)", Int80(359, 40, 1, 0));
  Report("i386 ptrace", Int80(26, 0, 0, 0));
  return 0;
}

int X32(int, char**) {
  constexpr long kX32 = 0x40000000;
  Report("x32 getpid", ::syscall(kX32 | SYS_getpid));
  Report("x32 ptrace", ::syscall(kX32 | 521, 0, 0, 0, 0));
  Report("x32 ioctl", ::syscall(kX32 | 514, 0, 0, 0));
  return 0;
}

// clone3 with these flags and a descriptor of a control group. A child ends at
// once.
long Clone3(uint64_t flags, uint64_t cgroup = 0) {
  clone_args arguments = {};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = cgroup;
  const long child = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (child == 0) {
    ::_exit(0);
  }
  return child;
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
    Report(text, ::syscall(SYS_unshare, flag.number));
    // The bit of the time namespace is part of clone's exit signal.
    const long child = ::syscall(SYS_clone, flag.number | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      ::_exit(0);
    }
    std::snprintf(text, sizeof(text), "clone %s", flag.name);
    Report(text, child);
    std::snprintf(text, sizeof(text), "clone3 %s", flag.name);
    Report(text, Clone3(static_cast<uint64_t>(flag.number)));
  }
  Report("clone3 user, as vfork",
         Clone3(CLONE_NEWUSER | CLONE_VFORK | CLONE_CLEAR_SIGHAND));
  Report("clone3 into a group", Clone3(CLONE_INTO_CGROUP, 0));
  const char* const joined[] = {"user", "mnt", "pid", "net", "ipc", "uts"};
  for (const char* name : joined) {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    char text[64];
    std::snprintf(text, sizeof(text), "setns %s", name);
    Report(text, ::syscall(SYS_setns, ::open(path, O_RDONLY), 0));
  }
  return 0;
}

int Identity(int, char**) {
  Report("setuid(0)", ::syscall(SYS_setuid, 0));
  Report("setuid(1)", ::syscall(SYS_setuid, 1));
  Report("setresuid(-1,0,-1)", ::syscall(SYS_setresuid, -1, 0, -1));
  Report("setresgid(0,0,0)", ::syscall(SYS_setresgid, 0, 0, 0));
  const gid_t group = 0;
  Report("setgroups", ::syscall(SYS_setgroups, 1, &group));
  Report("setfsuid(0)", ::syscall(SYS_setfsuid, 0));
  Report("setfsuid(again)", ::syscall(SYS_setfsuid, 0));
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {
      {1U << CAP_SYS_ADMIN, 1U << CAP_SYS_ADMIN, 0}, {}};
  Report("capset", ::syscall(SYS_capset, &header, data));
  Report("ambient",
         ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETUID, 0, 0));
  Report("securebits", ::prctl(PR_SET_SECUREBITS, 1, 0, 0, 0));
  Report("no_new_privs off", ::prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  Report("PR_SET_MM", ::prctl(PR_SET_MM, PR_SET_MM_BRK, 4096, 0, 0));
  Report("seccomp off", ::prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
  return 0;
}

int Priorities(int, char**) {
  sched_param parameter = {};
  parameter.sched_priority = 1;
  Report("SCHED_FIFO", ::sched_setscheduler(0, SCHED_FIFO, &parameter));
  Report("nice -10", ::setpriority(PRIO_PROCESS, 0, -10));
  Report("ioprio RT", ::syscall(SYS_ioprio_set, 1, 0, 1 << 13));
  const rlimit raised = {1 << 20, 1 << 20};
  Report("raise NOFILE", ::setrlimit(RLIMIT_NOFILE, &raised));
  const rlimit locked = {1 << 30, 1 << 30};
  Report("raise MEMLOCK", ::setrlimit(RLIMIT_MEMLOCK, &locked));
  return 0;
}

int CoreLimit(int, char**) {
  constexpr long kHigh = 0x100000000L;
  const rlimit none = {0, 1};
  rlimit old;
  Report("setrlimit", ::syscall(SYS_setrlimit, RLIMIT_CORE, &none));
  Report("setrlimit, high bits",
         ::syscall(SYS_setrlimit, kHigh | RLIMIT_CORE, &none));
  Report("prlimit", ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr));
  Report("prlimit, high bits",
         ::syscall(SYS_prlimit64, 0, kHigh | RLIMIT_CORE, &none, nullptr));
  Report("prlimit, with the old limit",
         ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, &old));
  ::getrlimit(RLIMIT_CORE, &old);
  std::printf("limit: %lu %lu\n", old.rlim_cur, old.rlim_max);
  const rlimit other = {5, 6};
  ::setrlimit(RLIMIT_FSIZE, &other);
  ::getrlimit(RLIMIT_FSIZE, &old);
  std::printf("other limit: %lu %lu\n", old.rlim_cur, old.rlim_max);
  return 0;
}

}  // namespace

const Entry kSyscalls[] = {{"refused", Refused},
                           {"absent", Absent},
                           {"i386", I386},
                           {"x32", X32},
                           {"namespaces", Namespaces},
                           {"identity", Identity},
                           {"priorities", Priorities},
                           {"core-limit", CoreLimit},
                           {nullptr, nullptr}};

}  // namespace payloads

// The system calls that a supervisor makes once its sandbox is complete, as
// data. Any other one kills it, except clone3, which looks absent: the C
// library then starts threads with clone, whose flags a filter sees.
//
// The supervisor starts no process and executes no program, mounts nothing and
// enters no namespace; see ../supervisor/confinement.h. Comments are the
// reasons, where one may wonder.

#ifndef SANDBOX_SECCOMP_SUPERVISOR_PROFILE_H_
#define SANDBOX_SECCOMP_SUPERVISOR_PROFILE_H_

#include <asm/ioctls.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdint>

#include "sandbox/seccomp/arguments.h"

namespace sandbox::seccomp {

inline constexpr const char* kSupervisorAllowed[] = {
    "accept4",  // a later server connects
    "access",   // has a group this file?
    "bind",     // listeners of the way out, for further ports
    "brk",
    "chown",            // cgroup v2: the spawner enters groups of commands
    "clock_gettime",    // where the kernel maps no clock into processes
    "clock_nanosleep",  // nanosleep() of the C library
    "close",
    "epoll_ctl",
    "epoll_wait",
    "eventfd2",  // cgroup v1 announces that memory runs out
    "exit",
    "exit_group",
    "fallocate",  // holes in logs
    "fchown",     // the pipes of a command belong to its user
    "fcntl",
    "fdatasync",
    "fstat",    // a newer C library, in place of newfstatat
    "fstatfs",  // is a log on XFS?
    "fsync",
    "ftruncate",  // cuts an incomplete event of the network
    "futex",
    "getdents64",  // disks whose limit is lifted, and marked processes
    "geteuid",     // is the server of the same user?
    "getpgid",     // processes of a process group
    "getpid",      // abort
    "getsockopt",  // the credentials of the server
    "gettid",      // abort
    "gettimeofday",
    "kill",  // continues starts that were stopped
    "listen",
    "lseek",
    "madvise",
    "memfd_create",  // messages above 64 KiB
    "mkdir",         // groups of commands
    "mremap",
    "munmap",
    "nanosleep",
    "newfstatat",
    "openat",
    "openat2",     // is a workspace still the directory that was lent?
    "pidfd_open",  // processes of a group
    "pidfd_send_signal",
    "pipe2",
    "poll",
    "pread64",
    "pwrite64",
    "read",
    "recvmsg",
    "rename",
    "renameat2",
    "restart_syscall",  // the kernel: a wait goes on after SIGCONT
    "rmdir",
    "rseq",          // threads
    "rt_sigaction",  // SIGBUS of mapped files
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",  // the memory allocator counts CPUs
    "sched_yield",
    "sendmsg",
    "set_robust_list",  // threads
    "splice",
    "tgkill",  // abort
    "unlink",
    "wait4",
    "waitid",
    "write",
    "writev",  // the C library, before it aborts

    // Harmless, and made by other versions of the libraries in place of calls
    // above, or to learn about the host.
    "epoll_pwait",
    "faccessat",
    "faccessat2",
    "getegid",
    "getgid",
    "getrandom",
    "getuid",
    "ppoll",
    "statx",
    "sysinfo",
    "time",
    "uname",
};

inline constexpr uint32_t kNewNamespaces =
    CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |
    CLONE_NEWTIME | CLONE_NEWUSER | CLONE_NEWUTS;

// clang-format off
inline constexpr Permission kSupervisorPermissions[] = {
    // Threads, and no processes.
    {"clone", {{0, CLONE_THREAD | kNewNamespaces, CLONE_THREAD}}},

    // No memory for code.
    {"mmap", {{2, PROT_EXEC, 0}}},
    {"mprotect", {{2, PROT_EXEC, 0}}},

    // Groups of commands, whatever the umask is. No setuid files.
    {"chmod", {{1, kWhole, 0755}}},

    // Terminals of commands: opening, size, signals to the foreground.
    {"ioctl", {{1, kWhole, TIOCSPTLCK}}},
    {"ioctl", {{1, kWhole, TIOCGPTPEER}}},
    {"ioctl", {{1, kWhole, TIOCSWINSZ}}},
    {"ioctl", {{1, kWhole, TIOCGPGRP}}},
    {"ioctl", {{1, kWhole, TIOCSIG}}},
    // How much XFS allocates ahead for a log.
    {"ioctl", {{1, kWhole, FS_IOC_FSGETXATTR}}},
    {"ioctl", {{1, kWhole, FS_IOC_FSSETXATTR}}},

    // Marks of the processes of a command, where a user has no control groups.
    {"prlimit64", {{1, kWhole, RLIMIT_CORE}}},

    // Published ports, and listeners of the way out. All of them belong to the
    // sandbox's network namespace, in which the supervisor is.
    {"socket", {{0, kWhole, AF_INET}, {1, kSocketType, SOCK_STREAM},
                {2, kWhole, 0}}},
    {"socket", {{0, kWhole, AF_INET6}, {1, kSocketType, SOCK_STREAM},
                {2, kWhole, 0}}},
    {"setsockopt", {{1, kWhole, IPPROTO_IPV6}, {2, kWhole, IPV6_V6ONLY}}},
};
// clang-format on

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_SUPERVISOR_PROFILE_H_

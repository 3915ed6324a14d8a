// The default system call profile, as data. Deny by default: what is not named here is refused.
//
// Based on the allow list that container engines settled on (moby/profiles, seccomp/default.json), less
// what has no use in a build or agent sandbox and has been a way out of one.

#ifndef SANDBOX_SECCOMP_PROFILE_H_
#define SANDBOX_SECCOMP_PROFILE_H_

namespace sandbox::seccomp {

// Allowed whatever the arguments, if the deny rules of compile_profile.cc do not object.
//
// Left out of the engines' list, with the reason:
//   openat2, fchmodat2  take the mode in memory or are unknown to the argument check for setuid bits; ENOSYS
//   io_uring_*          makes system calls that no filter sees; ENOSYS, so that libuv and tokio fall back
//   modify_ldt, vm86    16-bit code, a source of kernel bugs
//   name_to_handle_at   with open_by_handle_at a way around mounts
//   clone3              arguments in memory; refused to commands with ENOSYS, so that libc uses clone
//   keyctl, add_key     keyrings are not namespaced
inline constexpr const char* kAllowed[] = {
    "accept", "accept4", "access", "alarm", "arch_prctl", "bind", "brk",
    "capget", "capset", "chdir", "chmod", "chown", "clock_adjtime",
    "clock_getres", "clock_gettime", "clock_nanosleep", "clone3", "close",
    "close_range", "connect", "copy_file_range", "creat", "dup", "dup2", "dup3",
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait",
    "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2",
    "execve", "execveat", "exit", "exit_group", "faccessat", "faccessat2",
    "fadvise64", "fallocate", "fanotify_mark", "fchdir", "fchmod", "fchmodat",
    "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr",
    "flock", "fork", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync",
    "ftruncate", "futex", "futex_waitv", "futimesat", "get_robust_list",
    "get_thread_area", "getcpu", "getcwd", "getdents", "getdents64", "getegid",
    "geteuid", "getgid", "getgroups", "getitimer", "getpeername", "getpgid",
    "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid",
    "getresuid", "getrlimit", "getrusage", "getsid", "getsockname",
    "getsockopt", "gettid", "gettimeofday", "getuid", "getxattr",
    "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch",
    "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup",
    "io_submit", "ioctl", "ioprio_get", "ioprio_set", "kill",
    "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self",
    "lchown", "lgetxattr", "link", "linkat", "listen", "listxattr",
    "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "madvise",
    "membarrier", "memfd_create", "memfd_secret", "mincore", "mkdir", "mkdirat",
    "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap", "mprotect",
    "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend",
    "mq_unlink", "mremap", "msgctl", "msgget", "msgrcv", "msgsnd", "msync",
    "munlock", "munlockall", "munmap", "nanosleep", "newfstatat", "open",
    "openat", "pause", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2",
    "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "ppoll", "prctl",
    "pread64", "preadv", "preadv2", "prlimit64", "process_mrelease",
    "process_vm_readv", "process_vm_writev", "pselect6", "ptrace", "pwrite64",
    "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat",
    "readv", "recvfrom", "recvmmsg", "recvmsg", "remap_file_pages",
    "removexattr", "rename", "renameat", "renameat2", "restart_syscall",
    "rmdir", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
    "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
    "sched_getaffinity", "sched_getattr", "sched_getparam",
    "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",
    "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield",
    "seccomp", "select", "semctl", "semget", "semop", "semtimedop", "sendfile",
    "sendmmsg", "sendmsg", "sendto", "set_robust_list", "set_thread_area",
    "set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups",
    "setitimer", "setpgid", "setpriority", "setregid", "setresgid",
    "setresuid", "setreuid", "setrlimit", "setsid", "setsockopt", "setuid",
    "setxattr", "shmat", "shmctl", "shmdt", "shmget", "shutdown",
    "sigaltstack", "signalfd", "signalfd4", "socketpair", "splice", "stat",
    "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range",
    "syncfs", "sysinfo", "tee", "tgkill", "time", "timer_create",
    "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill",
    "truncate", "umask", "uname", "unlink", "unlinkat", "utime", "utimensat",
    "utimes", "vfork", "vmsplice", "wait4", "waitid", "write", "writev",
};

// Newer than the libseccomp that compiles the profile: by number, x86-64.
inline constexpr int kAllowedNumbers[] = {
    451,  // cachestat
    453,  // map_shadow_stack
    454,  // futex_wake
    455,  // futex_wait
    456,  // futex_requeue
    462,  // mseal
};

// Refused with ENOSYS instead of EPERM, as a kernel without them would: programs
// then use what they used before these existed.
inline constexpr const char* kAbsent[] = {
    "io_uring_enter", "io_uring_register", "io_uring_setup", "openat2",
    "fchmodat2",
};

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_PROFILE_H_
